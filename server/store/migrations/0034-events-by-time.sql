-- Events are removed after a while, the oldest first.
create index events_by_time on service_events (time);
