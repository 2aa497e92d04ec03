-- Logins: passwords, links that set one, what the authorization server remembers, its keys, and identities elsewhere.

create table passwords (
  user_id bigint primary key references users on delete cascade,
  verifier text not null,
  changed_at timestamptz not null default now()
);

-- One-time links. Only a hash of what is in the link.
create table password_links (
  token_hash bytea primary key,
  user_id bigint not null references users on delete cascade,
  expires_at timestamptz not null
);

-- Attempts to log in: one bucket a key, shared by all servers. No word of it matters after a crash of the store.
create unlogged table login_attempts (
  key bytea primary key,
  amount double precision not null,
  at timestamptz not null
);

-- Sessions, interactions, grants, codes and refresh tokens. The id of what is a credential for long is a hash.
-- The payload is json, not jsonb: programs send what they like as their state, and jsonb refuses U+0000.
create table oauth_records (
  model text not null,
  id text not null,
  payload json not null,
  user_id bigint references users on delete cascade,
  grant_id text,
  user_code text,
  uid text,
  consumed_at timestamptz,
  expires_at timestamptz not null,
  primary key (model, id)
);
create index oauth_records_by_expiry on oauth_records (expires_at);
create index oauth_records_of_user on oauth_records (user_id);
create index oauth_records_of_grant on oauth_records (grant_id) where grant_id is not null;
create index oauth_records_by_user_code on oauth_records (user_code) where user_code is not null;
create index oauth_records_by_uid on oauth_records (uid) where uid is not null;

-- Keys that sign access tokens. Each installation signs with its own; the private half is encrypted with a key that
-- is in that installation's data directory only. Every server believes the public halves of all of them.
create table oauth_keys (
  kid text primary key,
  installation_id text not null,
  public_jwk jsonb not null,
  private_key bytea not null,
  created timestamptz not null default now(),
  retired_at timestamptz
);
create unique index one_key_signs on oauth_keys (installation_id) where retired_at is null;

-- Who a user is at an outside issuer.
create table external_identities (
  issuer text not null,
  subject text not null,
  user_id bigint not null references users on delete cascade,
  primary key (issuer, subject)
);

-- Memberships that follow from a group at the outside issuer, and end with it.
create table group_memberships (
  project_id text not null,
  user_id bigint not null,
  primary key (project_id, user_id),
  foreign key (project_id, user_id) references members on delete cascade
);
