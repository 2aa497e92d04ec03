// Table tests of the settings that follow from a size.
import { expect, test } from 'vitest'
import type { Size } from '../../provider.ts'
import { nodeOf } from '../host/layout.ts'
import { preloadsOf } from '../../postgres/preloads.ts'
import { hashOf, hbaOf, rises, settingsOf } from './settings.ts'

const node = nodeOf('/d', 'abc', 20_001, false)
const textOf = (size: Size, host_memory_mb = 1024 * 1024, major = 18) =>
  settingsOf({
    size,
    endpoint: { host: '127.0.0.1', port: 20_001 },
    node,
    major,
    archive_module: true,
    host_memory_mb,
    log_rotation_mb: 100,
  })

test.each([
  ['shared', '32MB', '50', '4MB'],
  [{ cpu_millis: 500, memory_gbs: 2 }, '512MB', '100', '5MB'],
  [{ cpu_millis: 1000, memory_gbs: 4 }, '1024MB', '200', '5MB'],
  [{ cpu_millis: 8000, memory_gbs: 32 }, '8192MB', '1000', '8MB'],
  [{ cpu_millis: 32_000, memory_gbs: 128 }, '32768MB', '1000', '32MB'],
] as const)('a size of %o has its own memory and connections', (size, shared_buffers, max_connections, work_mem) => {
  const text = textOf(size)
  expect(text).toContain(`\nshared_buffers = '${shared_buffers}'\n`)
  expect(text).toContain(`\nmax_connections = '${max_connections}'\n`)
  expect(text).toContain(`\nwork_mem = '${work_mem}'\n`)
})

test('no more memory is planned with than the host has', () => {
  expect(textOf({ cpu_millis: 500, memory_gbs: 2 }, 1000)).toContain(`shared_buffers = '250MB'`)
})

test('a setting that an older PostgreSQL does not know is left out', () => {
  expect(textOf('shared', 8192, 17)).not.toContain('io_method')
  expect(textOf('shared', 8192, 18)).toContain('io_method')
})

test.each([
  [[], [], undefined, 6],
  [['pg_stat_statements', 'timescaledb'], [], 'pg_stat_statements', 6],
  [['pg_stat_statements', 'timescaledb'], ['vector', 'timescaledb'], 'timescaledb, pg_stat_statements', 15],
] as const)('an installation with %j that runs %j starts with %s', (available, wanted, libraries, workers) => {
  const preloads = preloadsOf(new Set<string>(available), wanted)
  const spec = { size: 'shared' as const, node, major: 18, archive_module: true, host_memory_mb: 8192 }
  const text = settingsOf({ ...spec, log_rotation_mb: 1, preloads, of_installation: { extension_destdir: '/e' } })
  expect(/^shared_preload_libraries = '(.*)'$/m.exec(text)?.[1]).toBe(libraries)
  expect(text).toContain(`\nmax_worker_processes = '${workers}'\n`)
  expect(text).toContain(`\nextension_destdir = '/e'\n`)
  expect(rises('shared', { max_worker_processes: 6 }, preloads)).toBe(workers > 6)
})

test('a quote in a path does not end its value', () => {
  const odd = nodeOf(`/it's`, 'abc', 20_001, false)
  const text = settingsOf({
    size: 'shared',
    endpoint: { host: 'h', port: 1 },
    node: odd,
    major: 18,
    archive_module: true,
    host_memory_mb: 1,
    log_rotation_mb: 100,
  })
  expect(text).toContain(`unix_socket_directories = '/it''s/run/abc'`)
})

test('the hash tells settings apart', () => {
  expect(hashOf(['a', 'b'])).toBe(hashOf(['a', 'b']))
  expect(hashOf(['a', 'b'])).not.toBe(hashOf(['ab', '']))
})

test('no client may connect by TCP without TLS', () => {
  expect(hbaOf()).not.toMatch(/^host\s|^hostnossl|^host.*trust|md5/m)
})

test('who needs no password comes by the unix socket only', () => {
  const lines = hbaOf().split('\n')
  const trusted = lines.filter((line) => line.endsWith('trust'))
  expect(trusted.map((line) => line.split(' ')[0])).toEqual(['local', 'local'])
  const rejected = lines.findIndex((line) => line.startsWith('hostssl') && line.endsWith('reject'))
  for (const line of trusted) expect(lines[rejected]).toContain(line.split(' ')[2])
  expect(rejected).toBeLessThan(lines.findIndex((line) => line.startsWith('hostssl all all')))
})

test('a standby has at least what its primary had', () => {
  const spec = {
    size: 'shared' as const,
    node,
    major: 18,
    archive_module: true,
    host_memory_mb: 8192,
    log_rotation_mb: 1,
  }
  const following = { primary: node, name: 'node_1', slot: 'node_1' }
  const text = settingsOf({ ...spec, following, floor: { max_connections: 400, max_worker_processes: 1 } })
  expect(text).toContain(`\nmax_connections = '400'\n`)
  expect(text).toContain(`\nmax_worker_processes = '6'\n`)
  expect(text).toContain(`\nprimary_conninfo = 'host=''/d/run/abc'' port=''20001'' user=''howdah_standby''`)
  expect(text).toContain(`\nlisten_addresses = ''\n`)
  expect(settingsOf(spec)).not.toContain('primary_conninfo')
})
