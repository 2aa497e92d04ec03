-- The metadata store: what is wanted, what was observed, who may ask, and the work in between.
-- Every table's rules are constraints with names worth reading. Forward only: never edit a migration that has shipped.

create table users (
  id bigint generated always as identity (start with 1000) primary key,
  email text not null,
  name text not null,
  created timestamptz not null default now()
);
create unique index users_email_is_unique on users (lower(email));

create table projects (
  id text primary key constraint project_id_form check (id ~ '^[a-z0-9]{10}$'),
  name text not null,
  created timestamptz not null default now()
);

create table members (
  project_id text not null references projects on delete cascade,
  user_id bigint not null references users on delete cascade,
  role text not null constraint role_is_known check (role in ('viewer', 'developer', 'admin', 'owner')),
  created timestamptz not null default now(),
  primary key (project_id, user_id)
);

-- Personal access tokens. The secret exists only as a hash; a token dies with its issuer's membership.
create table tokens (
  public_key text primary key,
  secret_hash bytea not null,
  name text not null,
  project_id text not null,
  user_id bigint not null,
  created timestamptz not null default now(),
  expires_at timestamptz,
  last_used_at timestamptz,
  foreign key (project_id, user_id) references members on delete cascade
);

create table services (
  service_id text primary key constraint service_id_form check (service_id ~ '^[a-z0-9]{10}$'),
  project_id text not null references projects,
  name text not null,
  created timestamptz not null default now(),
  region_code text not null,
  service_type text not null,
  environment text not null constraint environment_is_known check (environment in ('DEV', 'PROD')),
  host text not null,
  port integer not null,

  -- Wanted. generation rises with every change that a provider must make true; the other two remember the generation
  -- at which power and shape (size) last changed.
  generation bigint not null default 1,
  power text not null default 'on' constraint power_is_on_or_off check (power in ('on', 'off')),
  power_generation bigint not null default 1,
  cpu_millis integer,
  memory_gbs integer,
  shape_generation bigint not null default 1,
  extensions text[] not null default '{}',
  password_verifier text not null,
  deleted_at timestamptz,

  -- Observed.
  state text not null default 'unknown'
    constraint state_is_known check (state in ('unknown', 'absent', 'stopped', 'serving', 'not_serving')),
  settled_generation bigint not null default 0,
  observed_at timestamptz,
  waiting_for text,

  constraint size_is_whole_or_shared check ((cpu_millis is null) = (memory_gbs is null)),
  constraint endpoint_is_used_once unique (region_code, host, port)
);
create index services_of_project on services (project_id, created, service_id);

create table service_events (
  id bigint generated always as identity primary key,
  service_id text not null,
  time timestamptz not null default clock_timestamp(),
  kind text not null,
  message text not null
);
create index events_of_service on service_events (service_id, id desc);

-- Keys to look at, never instructions. A row stays as long as its subject: due_at is when to look next.
create table work (
  kind text not null,
  key text not null,
  due_at timestamptz not null default now(),
  nudges bigint not null default 1,
  lease_token uuid,
  lease_owner text,
  lease_until timestamptz,
  attempts integer not null default 0,
  error text,
  primary key (kind, key)
);
create index work_by_due_time on work (due_at);

-- Answers to requests that carried an Idempotency-Key. Only a hash of the key is kept: together with salt the key
-- itself yields the generated password again, so a repeated request gets the same answer and nothing is stored in clear.
create table idempotency_keys (
  project_id text not null references projects on delete cascade,
  key_hash bytea not null,
  request_hash bytea not null,
  salt bytea not null,
  service_id text not null,
  created timestamptz not null default now(),
  primary key (project_id, key_hash)
);
create index idempotency_keys_by_age on idempotency_keys (created);
