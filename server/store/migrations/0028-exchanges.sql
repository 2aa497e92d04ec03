-- The data of a service may give way to those of a moment, of itself or of its parent: what was last requested. It is pending until its
-- generation is settled. The state before a rewind is kept as a snapshot.
alter table services add column exchange jsonb;
alter table snapshots
  drop constraint snapshot_kind_is_known,
  add constraint snapshot_kind_is_known check (kind in ('initial', 'scheduled', 'manual', 'now', 'rewind'));
