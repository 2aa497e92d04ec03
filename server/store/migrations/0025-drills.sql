-- Restore drills: a service is restored into a node that no client reaches, at least once a day and when it is asked for. A server
-- that drills has a lease; another one drills again when it has ended.
alter table services
  add column drill_requested_at timestamptz,
  add column drill_lease_until timestamptz,
  add column drilled_at timestamptz,
  add column proven_restorable_at timestamptz,
  add column drill_error text;
