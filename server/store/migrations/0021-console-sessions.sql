-- Logins of the console. `sealed` has the tokens, encrypted with a key that follows from the browser's cookie alone: the store
-- has the hash of that cookie, so neither opens without the other.
create table console_sessions (
  id_hash text primary key,
  sealed bytea not null,
  grant_id text not null,
  user_id bigint not null references users (id) on delete cascade,
  expires_at timestamptz not null
);
create index console_sessions_expiry on console_sessions (expires_at);
