-- Invitations, tokens with a role of their own, and the audit log.

-- Null: invited by e-mail, has not logged in yet. Everybody who is there already counts as joined.
alter table users add column joined_at timestamptz default now();

-- Null: the token carries its issuer's role, whatever that is. It never carries more than that.
alter table tokens add column role text
  constraint token_role_is_known check (role in ('viewer', 'developer', 'admin', 'owner'));
create index tokens_of_project on tokens (project_id, created, public_key);
create index members_of_user on members (user_id, project_id);

-- Every request of a known caller that wanted to change something. References nothing: it outlives all it names.
-- project_id is null where the caller named a project that is not theirs.
create table audit (
  id bigint generated always as identity primary key,
  time timestamptz not null default clock_timestamp(),
  project_id text,
  user_id bigint not null,
  email text not null,
  public_key text,
  address text not null,
  endpoint text not null,
  method text not null,
  path text not null,
  resource_id text,
  status integer not null,
  code text,
  request_id text not null
);
create index audit_of_project on audit (project_id, id desc);

create function refuse_change_of_audit() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is append-only';
end
$$;
create trigger audit_is_append_only before update or delete or truncate on audit
  for each statement execute function refuse_change_of_audit();
