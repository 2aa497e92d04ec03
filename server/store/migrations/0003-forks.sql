-- Forks and snapshots. A snapshot is wanted by its row and observed when taken_at is set; a fork is a service with a source.

create table snapshots (
  snapshot_id text primary key constraint snapshot_id_form check (snapshot_id ~ '^[a-z0-9]{10}$'),
  service_id text not null references services on delete cascade,
  kind text not null constraint snapshot_kind_is_known check (kind in ('initial', 'scheduled', 'manual', 'fork')),
  requested_at timestamptz not null default now(),
  deleted_at timestamptz,
  -- Observed.
  taken_at timestamptz,
  size_bytes bigint
);
create index snapshots_of_service on snapshots (service_id, requested_at desc);

-- The parent may be gone: no reference. The source is only read until the fork has been made once.
alter table services
  add column source_service_id text,
  add column source_project_id text,
  add column source_strategy text
    constraint source_strategy_is_known check (source_strategy in ('LAST_SNAPSHOT', 'NOW', 'PITR')),
  add column source_snapshot_id text,
  add column source_time timestamptz,
  add column source_failed boolean not null default false,
  add constraint source_is_whole check (
    (source_service_id is null) = (source_strategy is null) and (source_service_id is null) = (source_snapshot_id is null));
create index forks_being_made on services (source_service_id) where source_service_id is not null and settled_generation = 0;

-- Services made before there were snapshots get their first one now.
insert into snapshots (snapshot_id, service_id, kind)
select substr(md5(random()::text), 1, 10), service_id, 'initial' from services where deleted_at is null;
