// What a drill reads of a database: all catalogs, and of the tables and their indexes so much as it has time for, chosen anew each time, so
// that over the days all of it is read. A statement for amcheck, which is in pg_catalog. Pure.

/** Of heap and indexes together. A machine with many services makes a drill of each every day. */
export const sample_bytes = 200 * 1024 ** 2
const tables_max = 200
const block_bytes = 8192

/**
 * Tables are chosen in random order until they have so many bytes. Of a larger one a part is read, and its rows are compared with its
 * primary key, or another large index is read, as often as that has so many bytes on average.
 */
export function corruptionQuery(bytes: number): string {
  const blocks = Math.max(1, Math.floor(bytes / block_bytes))
  return `
  with tables as materialized (
    select c.oid, c.oid::pg_catalog.regclass::text as name, c.oid < 16384 as is_catalog,
      pg_catalog.pg_relation_size(c.oid) as heap_bytes, pg_catalog.pg_indexes_size(c.oid) as index_bytes,
      pg_catalog.random() as place, pg_catalog.random() as part
    from pg_catalog.pg_class c where c.relkind in ('r', 't', 'm') and c.relpersistence = 'p'),
  placed as (
    select *, pg_catalog.sum(heap_bytes + index_bytes) over in_order - heap_bytes - index_bytes as bytes_before,
      pg_catalog.row_number() over in_order as number
    from tables window in_order as (partition by is_catalog order by place)),
  relations as materialized (
    select oid, name, is_catalog, heap_bytes,
      case when not is_catalog and heap_bytes > ${blocks * block_bytes}
        then pg_catalog.floor(part * (heap_bytes / ${block_bytes} - ${blocks} + 1))::pg_catalog.int8 end as first_block
    from placed where is_catalog or (bytes_before < ${bytes} and number <= ${tables_max})),
  indexes as materialized (
    select pg_catalog.bt_index_check(i.indexrelid, i.indisprimary and (r.is_catalog or pg_catalog.random() * r.heap_bytes < ${bytes}))
    from pg_catalog.pg_index i join relations r on r.oid = i.indrelid
    join pg_catalog.pg_class c on c.oid = i.indexrelid join pg_catalog.pg_am a on a.oid = c.relam
    where a.amname = 'btree' and c.relpersistence = 'p' and i.indisvalid
      and (r.is_catalog or pg_catalog.random() * pg_catalog.pg_relation_size(i.indexrelid) < ${bytes}))
  select name || ', block ' || v.blkno || ': ' || v.msg as found
  from relations cross join lateral pg_catalog.verify_heapam(
    relations.oid, startblock := first_block, endblock := first_block + ${blocks - 1}) v
  where (select pg_catalog.count(*) from indexes) >= 0 limit 1`
}
