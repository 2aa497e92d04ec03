// A drill as its owner asks for it, and the damage that it should find.
import { closeSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import { expect } from 'vitest'
import type { ReadyService, TestInstallation } from '#test/installation.ts'
import { until } from '#test/until.ts'

/** Its result: an error, or none. */
export async function drill(howdah: TestInstallation, service: ReadyService): Promise<string | undefined> {
  const at = `${howdah.services}/${service.service_id}`
  const resultOf = async () => (await howdah.call('GET', at)).body.protection
  const before = await resultOf()
  expect((await howdah.call('POST', `${at}/drill`)).status).toBe(202)
  const after = await until(async () => {
    const now = await resultOf()
    const proven = now?.last_proven_restorable_at !== before?.last_proven_restorable_at
    return (proven || now?.last_drill_error !== before?.last_drill_error) && now
  })
  return after.last_drill_error
}

export function flipBit(path: string): void {
  const file = openSync(path, 'r+')
  const byte = Buffer.alloc(1)
  const at = Math.floor(statSync(path).size / 2)
  readSync(file, byte, 0, 1, at)
  byte[0] = (byte[0] ?? 0) ^ 1
  writeSync(file, byte, 0, 1, at)
  closeSync(file)
}
