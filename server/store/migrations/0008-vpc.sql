-- VPCs, their peerings, and which address of a VPC belongs to whom.

-- A block of addresses within one project: from one text to another, each the project's id and an address in eight
-- hexadecimal digits, so that the order of the texts is that of the addresses. A range type of our own, because an
-- exclusion constraint over a text and a network would need the extension btree_gist, which not every PostgreSQL has
-- and not every role may create.
create type vpc_block as range (subtype = text, collation = "C");

create table vpcs (
  id bigint generated always as identity (start with 1000) primary key,
  project_id text not null references projects,
  region_code text not null,
  name text not null,
  cidr cidr not null constraint cidr_is_of_a_size_offered check (family(cidr) = 4 and masklen(cidr) between 16 and 28),
  created timestamptz not null default now(),

  -- Wanted. generation rises with every change that a provider must make true. A deleted one is known to nobody but the
  -- provider, and its row goes when nothing of it is left.
  deleted_at timestamptz,
  generation bigint not null default 1,

  -- Observed. The generation at which a provider looked last, and what it lacked then.
  observed_generation bigint not null default 0,
  waiting_for text,

  constraint vpcs_of_a_project_do_not_overlap exclude using gist (
    vpc_block(
      project_id || lpad(to_hex(network(cidr) - inet '0.0.0.0'), 8, '0'),
      project_id || lpad(to_hex(broadcast(cidr) - inet '0.0.0.0'), 8, '0'),
      '[]') with &&) where (deleted_at is null)
);
create index vpcs_of_project on vpcs (project_id, id);

-- One side's consent to a link between two VPCs. The link is wanted while the other side's row is there too. What names the
-- peer is text, as it was sent: it may be of another installation, or of nobody.
create table peerings (
  id bigint generated always as identity (start with 1000) primary key,
  vpc_id bigint not null references vpcs,
  peer_account_id text not null,
  peer_region_code text not null,
  peer_vpc_id text not null,
  created timestamptz not null default now(),
  -- The other side's row, where one request made both: they go together.
  made_with bigint,
  -- Why there will never be a link.
  failure text,
  -- Observed: the link is there, by this name.
  provisioned_id text,
  constraint peering_is_made_once unique (vpc_id, peer_account_id, peer_vpc_id)
);
create index peerings_by_peer on peerings (peer_vpc_id);

alter table services add column vpc_id bigint references vpcs;
create index services_of_vpc on services (vpc_id) where vpc_id is not null;

-- Held from the request that attaches a service until the service has been seen to have left.
create table vpc_addresses (
  vpc_id bigint not null references vpcs,
  address inet not null,
  service_id text not null references services on delete cascade,
  -- What of the service listens there: `service` itself or the id of a replica set, and `<that>/pooler` for its pooler.
  holder text not null,
  primary key (vpc_id, address),
  constraint holder_has_one_address unique (service_id, holder)
);
