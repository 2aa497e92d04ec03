-- Users: who vouches for their e-mail, which projects they use, and whether they are disabled.

-- The project whose member made the link; null: the operator. Such a link ends with the membership that it was made for.
alter table password_links add column project_id text,
  add constraint link_ends_with_membership foreign key (project_id, user_id) references members on delete cascade;

-- The project by whose link the user chose their password: it alone says that the e-mail is theirs. Null: the operator or an
-- issuer says so. References nothing: it outlives the project.
alter table users add column claimed_in text;

-- When the member first sent a request to the project; null: added, and has not used it. From then on the project reads their logins.
alter table members add column used_at timestamptz;

-- Null: may log in. Else neither a login nor a token of the user is believed.
alter table users add column disabled_at timestamptz;
