-- What keeps a service from a slip. Null: as its environment says, and as the installation says.
alter table services
  add column protected boolean,
  add column snapshot_every_seconds integer
    constraint snapshot_interval_is_positive check (snapshot_every_seconds > 0),
  add column snapshot_keep_seconds integer
    constraint snapshots_are_kept_for_an_interval check (snapshot_keep_seconds >= snapshot_every_seconds),
  add constraint snapshot_policy_is_whole check ((snapshot_every_seconds is null) = (snapshot_keep_seconds is null));
