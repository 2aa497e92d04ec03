-- A service may end by itself. Told: when its owners were last warned of it; null: not yet.
alter table services
  add column expires_at timestamptz,
  add column expiry_told_at timestamptz;
create index services_by_expiry on services (expires_at) where expires_at is not null and deleted_at is null;
