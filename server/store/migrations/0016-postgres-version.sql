-- Observed: which PostgreSQL runs the service, such as 18.4; null until it was first seen to serve.
alter table services add column postgres_version text;
