-- Since when every pass over the service has met a setback; null: the last one was settled, or a step of work under way.
alter table services add column failing_since timestamptz;
