// Notes of what was last wanted, also those that versions before this one wrote.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findLastWantedService } from './last-wanted.ts'

const [service_id, snapshot_id, at] = ['parent', 'first', '2026-03-01T12:00:00.123456Z']

test.each([
  { noted: { service_id, snapshot_id, private: true }, moment: 'now' },
  { noted: { service_id, snapshot_id, target_time: at }, moment: { at } },
  { noted: { service_id, snapshot_id }, moment: { snapshot_id } },
  { noted: { service_id, moment: { at } }, moment: { at } },
])('the source of a note that says $noted is the moment $moment', async ({ noted, moment }) => {
  const directory = mkdtempSync(join(tmpdir(), 'howdah-test-note-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  mkdirSync(join(directory, 'wanted'))
  writeFileSync(join(directory, 'wanted', 'fork.json'), JSON.stringify({ service_id: 'fork', source: noted }))
  expect((await findLastWantedService(directory, 'fork'))?.source).toEqual({ service_id, moment })
})
