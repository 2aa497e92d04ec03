-- Which installation (data directory) a region is. Two servers on one store must not both take themselves for the
-- same region unless they share its data directory: each would make every service of it once more.
create table regions (
  region_code text primary key,
  installation_id text not null,
  created timestamptz not null default now()
);
