-- What the average of a coarser bucket hides: the least and the greatest value in it. Absent in the finest tier, whose buckets
-- have one value, and in what was rolled up before.
alter table service_metrics
  add column cpu_usage_millicores_min float4,
  add column cpu_usage_millicores_max float4,
  add column memory_usage_bytes_min float8,
  add column memory_usage_bytes_max float8,
  add column disk_usage_bytes_min float8,
  add column disk_usage_bytes_max float8,
  add column connections_min float4,
  add column connections_max float4,
  add column transactions_per_second_min float4,
  add column transactions_per_second_max float4,
  add column replication_lag_bytes_min float8,
  add column replication_lag_bytes_max float8,
  add column cache_hit_ratio_min float4,
  add column cache_hit_ratio_max float4;
