// The log read forwards: while it is written, rotated and removed, each entry comes once, in the order of writing.
import fc from 'fast-check'
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { LogPosition } from '#providers/local/log/cursor.ts'
import { nodeAt, nodeOf } from '#providers/local/host/layout.ts'
import { readLogTail } from '#providers/local/log/logs.ts'
import { readPage } from '#providers/local/log/page.ts'
import { positionAt, readTail, type TailQuery } from '#providers/local/log/tail.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'howdah-log-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const everything: TailQuery = { search: [], severities: [] }
const epoch_ms = Date.UTC(2026, 10, 15)
const nameOf = (file: number) => `postgresql-20261115-${String(file).padStart(6, '0')}.json`
const write = (file: number, text: string) => appendFileSync(join(folder, nameOf(file)), text)

function lineOf(message: string, time_ms = epoch_ms): string {
  const timestamp = new Date(time_ms).toISOString().replace('T', ' ').replace('Z', ' UTC')
  return `${JSON.stringify({ timestamp, pid: 7, error_severity: 'LOG', message })}\n`
}

/** Reads on until there is nothing more. */
async function drain(query: TailQuery, after: LogPosition | undefined) {
  const messages: string[] = []
  let at = after
  for (;;) {
    const tail = await readTail({ folder, node: 0 }, query, at)
    messages.push(...tail.found.map(({ entry }) => entry.message))
    if (tail.at?.file === at?.file && tail.at?.offset === at?.offset) return { messages, at }
    at = tail.at
  }
}

test('whatever is written between two reads, in whatever pieces, is read once', async () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant('write'), bytes: fc.integer({ min: 1, max: 300 }) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('rotate'), bytes: fc.constant(0) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('read'), bytes: fc.constant(0) }) },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      rmSync(folder, { recursive: true, force: true })
      folder = mkdtempSync(join(tmpdir(), 'howdah-log-'))
      const written: string[] = []
      const read: string[] = []
      let [file, pending, at] = [0, '', undefined as LogPosition | undefined]
      const next = () => lineOf(`entry ${written.push(`entry ${written.length}`) - 1}`)
      const readOn = async () => {
        const tail = await drain(everything, at)
        read.push(...tail.messages)
        at = tail.at
      }
      for (const { do: act, bytes } of steps) {
        if (act === 'read') await readOn()
        if (act === 'rotate') {
          // PostgreSQL ends the line before it begins another file.
          write(file, pending)
          pending = ''
          file += 1
        }
        if (act === 'write') {
          while (pending.length < bytes) pending += next()
          write(file, pending.slice(0, bytes))
          pending = pending.slice(bytes)
        }
      }
      write(file, pending)
      await readOn()
      expect(read).toEqual(written)
    }),
    { numRuns: 100 },
  )
})

test('each entry has the position after it, at which a page backwards and the rest forwards meet', async () => {
  for (let entry = 0; entry < 9; entry += 1) write(entry % 3 === 2 ? 1 : 0, lineOf(`entry ${entry}`))
  const { found } = await readTail({ folder, node: 0 }, everything, undefined)
  const all = (await drain(everything, undefined)).messages
  for (const [index, { position }] of found.entries()) {
    const { entries } = await readPage({ folder, node: 0 }, { skip: 0, limit: 500, ...everything }, position)
    expect(entries.length).toBe(index + 1)
    expect((await drain(everything, position)).messages).toEqual(all.slice(index + 1))
  }
})

test('what does not match moves the position, and lines longer than a window are read', async () => {
  write(0, lineOf('a') + lineOf('x'.repeat(3_000_000)) + lineOf('needle'))
  expect((await drain({ ...everything, search: ['needle'] }, undefined)).messages).toEqual(['needle'])
  const { messages } = await drain(everything, undefined)
  expect(messages.map((message) => message.slice(0, 6))).toEqual(['a', 'xxxxxx', 'needle'])
})

test('a position whose file was removed goes on at the oldest entry that is kept', async () => {
  write(0, lineOf('removed'))
  const { at } = await drain(everything, undefined)
  write(0, lineOf('removed unread'))
  write(1, lineOf('kept'))
  rmSync(join(folder, nameOf(0)))
  expect((await drain(everything, at)).messages).toEqual(['kept'])
})

test('it begins at a time, in whatever file that is', async () => {
  for (let second = 0; second < 60; second += 1) {
    write(Math.floor(second / 20) * 20, lineOf(`at ${second}`, epoch_ms + second * 1000))
  }
  for (const second of [0, 19, 20, 25, 59]) {
    const query = { ...everything, since_ms: epoch_ms + second * 1000 }
    const { messages } = await drain(query, undefined)
    expect(messages[0]).toBe(second === 59 ? undefined : `at ${second + 1}`)
    expect(messages.length).toBe(59 - second)
    const from = await positionAt({ folder, node: 0 }, epoch_ms + second * 1000)
    expect((await drain(everything, from)).messages[0]).toBe(`at ${second}`)
  }
})

test('it reads all of the last primary, and goes over to the next at the time of that one’s last entry', async () => {
  const host = { directory: folder, as_root: false }
  const id = 'service000'
  const base = nodeOf(folder, id, 0, false)
  const other = nodeAt(base, 1, 'standby')
  const add = (log: string, ...lines: string[]) => {
    mkdirSync(log, { recursive: true })
    appendFileSync(join(log, nameOf(0)), lines.join(''))
  }
  const read = async (after?: string) => {
    const tail = await readLogTail(host, id, { ...everything, after })
    if ('refused' in tail) throw new Error(tail.refused)
    return { messages: tail.entries.map(({ entry }) => entry.message), at: tail.at }
  }
  add(base.log, lineOf('first', epoch_ms))
  add(other.log, lineOf('as a replica', epoch_ms - 5_000))
  const first = await read()
  expect(first.messages).toEqual(['first'])
  add(base.log, lineOf('last words', epoch_ms + 1_000))
  add(other.log, lineOf('as a replica still', epoch_ms + 500), lineOf('promoted', epoch_ms + 2_000))
  writeFileSync(join(base.home, 'primary.json'), JSON.stringify({ node: 1, term: 2, switchovers: 0 }))
  const second = await read(first.at)
  expect(second.messages).toEqual(['last words'])
  const third = await read(second.at)
  expect(third.messages).toEqual(['promoted'])
  add(other.log, lineOf('as the primary', epoch_ms + 3_000))
  add(base.log, lineOf('as a replica', epoch_ms + 4_000))
  const fourth = await read(third.at)
  expect([fourth.messages, (await read(fourth.at)).messages]).toEqual([['as the primary'], []])
  const of_one = await readLogTail(host, id, { ...everything, node: 0, after: second.at })
  expect(of_one).toMatchObject({ entries: [{ entry: { message: 'as a replica' } }] })
  expect(await readLogTail(host, id, { ...everything, node: 1, after: second.at })).toEqual({ refused: 'cursor' })
})
