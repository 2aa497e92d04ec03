-- What of the disk quota of a service is taken by its archive, and how much it is.
alter table service_metrics
  add column disk_archive_bytes float8,
  add column disk_archive_bytes_min float8,
  add column disk_archive_bytes_max float8,
  add column disk_quota_bytes float8,
  add column disk_quota_bytes_min float8,
  add column disk_quota_bytes_max float8;
