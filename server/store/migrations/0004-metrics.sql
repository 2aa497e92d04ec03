-- What services used, in three tiers of buckets: ten seconds, a minute, a quarter of an hour. Each is kept for its own time, so
-- that a service has some five thousand rows at most. A bucket is written once, by whichever server comes first; the
-- coarser tiers are averages of the next finer one. No reference to services: history of a deleted one goes by its age.
create table service_metrics (
  service_id text not null,
  bucket_seconds integer not null constraint tier_is_known check (bucket_seconds in (10, 60, 900)),
  time timestamptz not null,
  cpu_usage_millicores float4,
  memory_usage_bytes float8,
  disk_usage_bytes float8,
  connections float4,
  transactions_per_second float4,
  cache_hit_ratio float4,
  primary key (service_id, bucket_seconds, time)
);
create index service_metrics_by_age on service_metrics (bucket_seconds, time);
