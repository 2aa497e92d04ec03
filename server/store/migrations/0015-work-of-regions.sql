-- The servers of a region take the work of their own region. Empty: of none, because what it is about is gone.
create function region_of(kind text, key text) returns text language sql stable as $$
  select coalesce(case kind
    when 'service' then (select region_code from services where service_id = key)
    when 'replica set' then (select region_code from replica_sets where replica_set_id = key)
    when 'vpc' then (select region_code from vpcs where id = key::bigint)
  end, '')
$$;
alter table work add column region_code text not null default '';
update work set region_code = region_of(kind, key);
