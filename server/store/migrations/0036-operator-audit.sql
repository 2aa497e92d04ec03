-- Null: the operator, by a command.
alter table audit alter column user_id drop not null;
