// When the events of a service tell that its backup is late: once for each reason, and never less.
import { expect, test } from 'vitest'
import { newLateness } from './lateness.ts'

const now_ms = Date.UTC(2026, 10, 15, 12)
const stateOf = (behind_seconds: number) => ({
  saved_at: new Date(now_ms).toISOString(),
  services: { s1: { wal_until: new Date(now_ms - behind_seconds * 1000).toISOString(), problem: 'no disk' } },
})

test('what could not be told is told again, and what was told is not', async () => {
  const told: string[] = []
  let away = false
  const tell = newLateness(
    60,
    async (service_id, message) => {
      if (away) throw new Error('the store is away')
      told.push(`${service_id}: ${message.split(';')[0]}`)
    },
    now_ms,
  )
  const late = 's1: its backup is 61 s behind: no disk'
  const in_time = 's1: its backup is in time again'
  const turns = [
    { behind_seconds: 60, expected: [] },
    { behind_seconds: 61, is_away: true, expected: [] },
    { behind_seconds: 61, expected: [late] },
    { behind_seconds: 61, expected: [] },
    { behind_seconds: 0, is_away: true, expected: [] },
    { behind_seconds: 0, expected: [in_time] },
    { behind_seconds: 0, expected: [] },
  ]
  for (const { behind_seconds, is_away = false, expected } of turns) {
    away = is_away
    const telling = tell(stateOf(behind_seconds), now_ms)
    await (is_away ? expect(telling).rejects.toThrow('the store is away') : telling)
    expect(told.splice(0)).toEqual(expected)
  }
})

test('what was late before the server began is not the fault of its runs', async () => {
  const told: string[] = []
  const tell = newLateness(60, async (_, message) => void told.push(message), now_ms)
  const late = { saved_at: '', services: { s1: { wal_until: new Date(now_ms - 3_600_000).toISOString() } } }
  await tell(late, now_ms)
  await tell(late, now_ms + 61_000)
  expect(told).toEqual(['its backup is 3600 s behind: no server made backups meanwhile; nothing local is lost'])
})
