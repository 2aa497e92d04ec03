// Table tests of a copy of a service of another region.
import { expect, test } from 'vitest'
import type { WantedService } from '../../provider.ts'
import type { Look } from '../cluster/look.ts'
import { unreachedIn } from './copying.ts'
import { afterwards, names, nothing, plan, specOf } from './plan-fixture.ts'
import { beginningOf } from './source.ts'

const origin = {
  endpoint: { host: 'db.example.com', port: 40_000 },
  role: 'howdah_copy_serv000000',
  password: 'of the copy',
  ca_pem: 'the authority',
  major: 17,
}
const moved = { source: { service_id: 'parent0000', moment: 'now' as const, origin } }

test('a copy of a service of another region logs in there by a Secret, which goes when the copy is made', () => {
  const beginning = beginningOf({
    wanted: { extensions: [], ...moved },
    names,
    look: nothing,
    parentOf: () => ({ names, look: nothing }),
    has_store: false,
  })
  if ('lack' in beginning) throw new Error(beginning.lack.waiting_for)
  const planned = (look: Look, parts: Partial<WantedService>) => plan(look, parts, beginning.bootstrap)
  const changes = planned(nothing, moved)
  expect(changes.map(({ effect }) => effect)).toContain('copy secret: apply')
  const spec = specOf(changes)
  expect(spec).toMatchObject({
    bootstrap: { pg_basebackup: { source: 'elsewhere', secret: { name: 's-serv000000-admin' } } },
    externalClusters: [
      {
        connectionParameters: { host: 'db.example.com', port: '40000', user: origin.role, sslmode: 'verify-ca' },
        password: { name: 's-serv000000-copy', key: 'password' },
        sslRootCert: { name: 's-serv000000-copy', key: 'ca.crt' },
      },
    ],
    // It came with the data.
    managed: { roles: [{ name: origin.role, ensure: 'absent' }] },
  })
  expect(JSON.stringify(spec)).not.toContain(origin.password)
  const look = afterwards(changes)
  expect(planned(look, moved)).toEqual([])
  expect(planned(look, { ...moved, made: true }).map(({ effect }) => effect)).toEqual(['copy secret: remove'])
})

test('a copy of a service of another region waits until that lets it in', () => {
  const source = { ...moved.source, origin: { closed: 'its parent must run to be copied' } }
  const wanted_parts = { wanted: { extensions: [], source }, names, look: nothing, has_store: true }
  expect(beginningOf({ ...wanted_parts, parentOf: () => ({ names, look: nothing }) })).toEqual({
    lack: { waiting_for: 'its parent must run to be copied', in_progress: true },
  })
})

test('a copy that does not reach its parent says why', () => {
  const waits = String.raw`{"level":"info","msg":"DB not available, will retry","err":"failed to connect to \"db\":\n\tdial tcp: refused"}`
  expect(unreachedIn(`{"msg":"Waiting for server"}\n${waits}\n`)).toBe('failed to connect to "db": dial tcp: refused')
  expect(unreachedIn(`${waits}\n{"msg":"initiating base backup"}\n`)).toBeUndefined()
  expect(unreachedIn('')).toBeUndefined()
})
