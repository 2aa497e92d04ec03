// The statuses that the contract says an endpoint accepts are those that it accepts, of every endpoint: derived from the
// table, so that an endpoint to come is asked from its first day.
import { describe, expect, test } from 'vitest'
import { shared } from '#test/shared.ts'
import { startInRegion } from './region.ts'
import { openReadyRows } from './ready-services.ts'
import { pathOf, rows as all_endpoints, valid_bodies } from './requests.ts'

const howdah = shared(startInRegion)
const rows = shared(() => openReadyRows(howdah))

/** How a row has the status: assignments in SQL. */
const states = {
  QUEUED: `settled_generation = 0, state = 'unknown'`,
  CONFIGURING: `settled_generation = 0, state = 'absent'`,
  READY: `state = 'serving'`,
  UNSTABLE: `state = 'not_serving'`,
  PAUSING: `power = 'off'`,
  PAUSED: `power = 'off', state = 'stopped'`,
  RESUMING: `generation = 2, power_generation = 2`,
  DELETING: `deleted_at = now()`,
} as const

const with_statuses = all_endpoints.filter(({ endpoint }) => endpoint.accepts !== undefined)

describe.each(with_statuses)('$name', (row) => {
  const accepts: readonly string[] = row.endpoint.accepts ?? []
  const refusing = Object.entries(states).filter(([status]) => !accepts.includes(status))

  test.each(refusing)('is refused while the service is %s, and changes nothing', async (status, columns) => {
    const service_id = await rows.newService()
    const replica_set_id = await rows.newSet(service_id)
    await rows.db.query(`update services set ${columns} where service_id = $1`, [service_id])
    const stored = async () => rows.db.query(`select s::text from services s where service_id = $1`, [service_id])
    const before = await stored()
    const made = new Map([['replica_set_id', replica_set_id]])
    const path = pathOf(row, { ...howdah, service_id, made })
    const answer = await howdah.call(row.endpoint.method, path, valid_bodies[row.name])
    expect([answer.status, answer.body.code]).toEqual([400, 'WRONG_STATE'])
    expect(answer.body.message).toContain(`the service is ${status}`)
    expect(await stored()).toEqual(before)
  })
})
