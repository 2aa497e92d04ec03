-- Events are read by project too, in the order of their ids. Those of services that are removed already stay unread.
alter table service_events add column project_id text;
update service_events e set project_id = s.project_id from services s where s.service_id = e.service_id;
create index events_of_project on service_events (project_id, id desc);
