-- Replicas that can take over, the connection pooler, and read replica sets.

-- Every port of a region that somebody has, for ever his own until he is gone. Whoever takes one writes it here first;
-- the triggers below see to it that no row names a port that is another's.
create table endpoints (
  region_code text not null,
  host text not null,
  port integer not null,
  holder_id text not null,
  constraint endpoint_has_one_holder primary key (region_code, host, port)
);
create index endpoints_of_holder on endpoints (holder_id);

alter table services
  add column replica_count integer not null default 0
    constraint replica_count_is_bounded check (replica_count between 0 and 5),
  add column sync_replica_count integer not null default 0
    constraint sync_replicas_are_replicas check (sync_replica_count between 0 and replica_count),
  -- How many planned changes of the primary were ever asked for.
  add column switchovers integer not null default 0,
  add column pooler boolean not null default false,
  -- Stays when the pooler goes: the next one listens at the same place.
  add column pooler_port integer,
  -- How many rows of replica_sets it has: who reads a service that has none need not look.
  add column replica_set_count integer not null default 0,
  add constraint pooler_has_a_port_of_its_own check (pooler_port <> port and (pooler_port is not null or not pooler));

create table replica_sets (
  replica_set_id text primary key constraint replica_set_id_form check (replica_set_id ~ '^[a-z0-9]{10}$'),
  -- No cascade: a service goes after its sets.
  service_id text not null references services,
  -- As the service's; a set never moves.
  region_code text not null,
  name text not null,
  created timestamptz not null default now(),
  environment text not null constraint environment_is_known check (environment in ('DEV', 'PROD')),
  host text not null,
  port integer not null,

  -- Wanted, as of services.
  generation bigint not null default 1,
  nodes integer not null constraint nodes_are_bounded check (nodes between 1 and 10),
  cpu_millis integer not null,
  memory_gbs integer not null,
  shape_generation bigint not null default 1,
  pooler boolean not null default false,
  pooler_port integer,
  deleted_at timestamptz,

  -- Observed.
  state text not null default 'unknown'
    constraint state_is_known check (state in ('unknown', 'absent', 'stopped', 'serving', 'not_serving')),
  settled_generation bigint not null default 0,
  observed_at timestamptz,
  waiting_for text,
  -- Since when every look failed; null: the last one did not.
  failing_since timestamptz,

  constraint pooler_has_a_port_of_its_own check (pooler_port <> port and (pooler_port is not null or not pooler))
);
create index replica_sets_of_service on replica_sets (service_id, created, replica_set_id);

create function count_replica_sets() returns trigger language plpgsql as $$
begin
  update services set replica_set_count = replica_set_count + case tg_op when 'INSERT' then 1 else -1 end
  where service_id = case tg_op when 'INSERT' then new.service_id else old.service_id end;
  return null;
end
$$;
create trigger replica_sets_are_counted after insert or delete on replica_sets
  for each row execute function count_replica_sets();

-- Takes the ports of a row for it, unless they are its own already; a port of another is refused.
create function hold_endpoints() returns trigger language plpgsql as $$
declare
  holder text := to_jsonb(new) ->> tg_argv[0];
  wanted integer;
begin
  if tg_op = 'INSERT' and exists (
    select from services where tg_table_name = 'replica_sets' and service_id = holder
    union all select from replica_sets where tg_table_name = 'services' and replica_set_id = holder)
  then
    raise exception 'the id % is taken', holder using errcode = 'unique_violation';
  end if;
  foreach wanted in array array_remove(array[new.port, new.pooler_port], null) loop
    insert into endpoints (region_code, host, port, holder_id) values (new.region_code, new.host, wanted, holder)
      on conflict on constraint endpoint_has_one_holder do nothing;
    if not found and not exists (
      select from endpoints
      where region_code = new.region_code and host = new.host and port = wanted and holder_id = holder)
    then
      raise exception 'port % is taken', wanted
        using errcode = 'unique_violation', constraint = 'endpoint_has_one_holder';
    end if;
  end loop;
  return null;
end
$$;

create function release_endpoints() returns trigger language plpgsql as $$
begin
  delete from endpoints where holder_id = to_jsonb(old) ->> tg_argv[0];
  return null;
end
$$;

create trigger service_holds_its_endpoints after insert or update of host, port, pooler_port on services
  for each row execute function hold_endpoints('service_id');
create trigger replica_set_holds_its_endpoints after insert or update of host, port, pooler_port on replica_sets
  for each row execute function hold_endpoints('replica_set_id');
create trigger service_releases_its_endpoints after delete on services
  for each row execute function release_endpoints('service_id');
create trigger replica_set_releases_its_endpoints after delete on replica_sets
  for each row execute function release_endpoints('replica_set_id');

insert into endpoints (region_code, host, port, holder_id) select region_code, host, port, service_id from services;

-- Somebody's database may be down: looked at before everything that is merely due.
alter table work add column urgent boolean not null default false;
create index urgent_work on work (due_at) where urgent;

alter table service_metrics add column replication_lag_bytes float8;
