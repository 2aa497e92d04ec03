// What the fork tests share: forking by the API, asking databases as their customers do, and the way from a service to
// its folders.
import { join } from 'node:path'
import pg from 'pg'
import type { Snapshot } from '#contract/snapshot.ts'
import type { Static } from 'typebox'
import { loginTo } from '#test/database.ts'
import type { ReadyService, TestInstallation } from '#test/installation.ts'
import { orphansOf } from '#test/traces.ts'
import { until } from '#test/until.ts'

export type Family = ReturnType<typeof familyOf>

export type ForkInput = { fork_strategy: 'NOW' | 'LAST_SNAPSHOT' | 'PITR'; target_time?: string; name?: string }

export function familyOf(installation: TestInstallation) {
  const requestFork = async (parent: ReadyService, input: ForkInput): Promise<ReadyService> => {
    const answer = await installation.call('POST', `${installation.services}/${parent.service_id}/forkService`, input)
    if (answer.status !== 202) throw new Error(`fork answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    return answer.body as ReadyService // the contract's own answer to a fork
  }
  const session = (service: ReadyService): Promise<pg.Client> =>
    loginTo(installation.server.api_url, service, service.initial_password)
  const snapshots = async (service: ReadyService) =>
    (
      await installation.call<Static<typeof Snapshot>[]>(
        'GET',
        `${installation.services}/${service.service_id}/snapshots`,
      )
    ).body
  return {
    requestFork,
    session,
    snapshots,
    fork: async (parent: ReadyService, input: ForkInput): Promise<ReadyService> => {
      const child = await requestFork(parent, input)
      await installation.untilStatus(child.service_id, 'READY')
      return child
    },
    /** The first column of all rows of one statement, as text. */
    rows: async (service: ReadyService, sql: string): Promise<string[]> => {
      const client = await session(service)
      try {
        const { rows } = await client.query<unknown[]>({ text: sql, rowMode: 'array' })
        return rows.map((row) => String(row[0]))
      } finally {
        await client.end()
      }
    },
    /** The first value of one statement, by PostgreSQL's superuser. */
    asSuperuser: async (service: ReadyService, sql: string): Promise<string> => {
      const host = join(installation.config.data_dir, 'local', 'run', service.service_id)
      const client = new pg.Client({ host, port: service.endpoint.port, user: 'postgres', database: 'postgres' })
      await client.connect()
      try {
        const { rows } = await client.query<string[]>({ text: sql, rowMode: 'array' })
        return String(rows[0]?.[0])
      } finally {
        await client.end()
      }
    },
    home: (service: ReadyService) => join(installation.config.data_dir, 'local', 'services', service.service_id),
    /** Waits for a complete snapshot beside those that are known already. */
    untilSnapshot: (service: ReadyService, known: readonly string[] = []) =>
      until(
        async () => (await snapshots(service)).find((one) => one.status === 'complete' && !known.includes(one.id)),
        { what: `a snapshot of ${service.service_id} is complete` },
      ),
    /** Nothing is on this host but what these services have. */
    untilAlone: (...services: ReadyService[]) => {
      const ids = services.map(({ service_id }) => service_id)
      const left = () => orphansOf(installation.config.data_dir, ids)
      // Reads every process of the host: not so often.
      return until(() => left().length === 0, { interval_ms: 200, what: 'nothing is left of the others' })
    },
    events: async (service: ReadyService): Promise<string[]> => {
      const path = `${installation.services}/${service.service_id}/events`
      const { body } = await installation.call<{ kind: string; message: string }[]>('GET', path)
      return body.map(({ kind, message }) => `${kind}: ${message}`)
    },
  }
}
