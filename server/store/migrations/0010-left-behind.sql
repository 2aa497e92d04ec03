-- Observed: a failover has led away from what the snapshot holds, so no later moment can be reached from it.
alter table snapshots add column left_behind boolean not null default false;
