-- A fork NOW leaves a snapshot that is not older than the fork.
alter table snapshots
  drop constraint snapshot_kind_is_known,
  add constraint snapshot_kind_is_known check (kind in ('initial', 'scheduled', 'manual', 'fork', 'now'));
