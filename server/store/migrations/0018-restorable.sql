-- The moments that can be restored are observed by the provider. Until null: up to now. What was known so far stands until the next look.
alter table services
  add column restorable_from timestamptz,
  add column restorable_until timestamptz;
update services set restorable_from = (
  select min(taken_at) from snapshots
  where snapshots.service_id = services.service_id and deleted_at is null and kind <> 'fork' and not left_behind);

-- Which snapshot a time stands on, and what a fork NOW copies, is for the provider to know: only LAST_SNAPSHOT names one.
alter table services drop constraint source_is_whole;
update services set source_snapshot_id = null where source_strategy <> 'LAST_SNAPSHOT';
alter table services add constraint source_is_whole check (
  (source_service_id is null) = (source_strategy is null)
  and (source_snapshot_id is not null) = (source_strategy is not distinct from 'LAST_SNAPSHOT'));

-- What was taken for one fork alone goes, by a look at its service.
insert into work (kind, key, region_code)
select 'service', service_id, region_of('service', service_id) from snapshots where kind = 'fork' group by service_id
on conflict (kind, key) do update set nudges = work.nudges + 1, due_at = now();
delete from snapshots where kind = 'fork';
alter table snapshots
  drop column left_behind,
  drop constraint snapshot_kind_is_known,
  add constraint snapshot_kind_is_known check (kind in ('initial', 'scheduled', 'manual', 'now'));
