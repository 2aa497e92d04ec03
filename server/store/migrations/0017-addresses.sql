-- Every address at which something is reached, in one table: ports outside of VPCs and addresses in them, of services, their poolers and
-- their replica sets. They were in columns of services and replica_sets, in endpoints and in vpc_addresses.
create table addresses (
  region_code text not null,
  -- Null: outside of all VPCs.
  vpc_id bigint references vpcs,
  host text not null,
  port integer not null,
  -- The service or the replica set that is reached here.
  owner_id text not null,
  role text not null constraint role_is_known check (role in ('service', 'pooler'))
);
-- Unique indexes that take two nulls for the same, which constraints know only from PostgreSQL 15 on.
create unique index address_has_one_owner on addresses (region_code, coalesce(vpc_id, 0), host, port);
create unique index owner_has_one_address on addresses (owner_id, role, coalesce(vpc_id, 0));
create index addresses_of_vpc on addresses (vpc_id) where vpc_id is not null;

insert into addresses (region_code, vpc_id, host, port, owner_id, role)
select region_code, null::bigint, host, port, service_id, 'service' from services
union all select region_code, null, host, pooler_port, service_id, 'pooler' from services where pooler_port is not null
union all select region_code, null, host, port, replica_set_id, 'service' from replica_sets
union all select region_code, null, host, pooler_port, replica_set_id, 'pooler' from replica_sets where pooler_port is not null
union all select vpcs.region_code, vpcs.id, host(held.address), 5432,
  case split_part(held.holder, '/', 1) when 'service' then held.service_id else split_part(held.holder, '/', 1) end,
  case when held.holder like '%/pooler' then 'pooler' else 'service' end
from vpc_addresses held join vpcs on vpcs.id = held.vpc_id;

drop trigger service_holds_its_endpoints on services;
drop trigger service_releases_its_endpoints on services;
drop trigger replica_set_holds_its_endpoints on replica_sets;
drop trigger replica_set_releases_its_endpoints on replica_sets;
drop function hold_endpoints;
drop function release_endpoints;
drop table endpoints;
drop table vpc_addresses;
alter table services drop column host, drop column port, drop column pooler_port;
alter table replica_sets drop column host, drop column port, drop column pooler_port;
