-- A deleted service may be kept, stopped, until a moment, and be restored until then; without that moment it is removed. Ended: since when all of it is stopped and the API
-- no longer shows it.
alter table services
  add column kept_until timestamptz,
  add column ended_at timestamptz,
  add constraint only_deleted_services_are_kept check (deleted_at is not null or kept_until is null and ended_at is null);
create index services_by_keeping on services (kept_until) where kept_until is not null;
