-- Logins in the audit log: they belong to no project, and are read by the projects of whoever logged in.
create index audit_of_user on audit (user_id, id desc) where project_id is null;

-- Services that may have processes: listed every ten seconds, however many others are stored.
create index services_with_processes on services (service_id) where state in ('serving', 'not_serving');

-- From here on the ids of sessions and interactions are hashes; those from before mean nothing any more.
delete from oauth_records where model in ('Session', 'Interaction');
