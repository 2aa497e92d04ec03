// Why a postmaster did not start, in its own words: the last FATAL line of its output or, when its log collector was
// already running, of its log. Only lines of this start count. It only reads, and never more than a bounded tail.
import { closeSync, fstatSync, readSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Node } from '../host/layout.ts'
import { listNames, openFile } from '../host/tenant-files.ts'

const tail_bytes_max = 65_536
const sentence_chars_max = 300
const collector_begins = 'Future log output will appear in directory'
const collector_wait_ms = 500
const poll_every_ms = 5

export async function startFailure(node: Pick<Node, 'log' | 'start_log'>, started_at: number): Promise<string> {
  for (const deadline = performance.now() + collector_wait_ms; ; await pause(poll_every_ms)) {
    const logged = fatalOfLog(await tailOfLog(node), started_at)
    const output = tailOf(dirname(node.start_log), basename(node.start_log))
    // The collector exits after the postmaster, and may still be writing its last lines.
    if (logged === undefined && output.includes(collector_begins) && performance.now() < deadline) continue
    return (logged ?? fatalOfOutput(output) ?? 'it gave no reason').slice(0, sentence_chars_max)
  }
}

/** All lines that PostgreSQL has logged since then, oldest first, as far as the tail goes. */
export async function logSince(node: Node, started_at: number): Promise<string[]> {
  const entries = (await tailOfLog(node)).split('\n').map(parseEntry)
  return entries.flatMap((entry) => (entry !== undefined && entry.time >= started_at ? [entry.message] : []))
}

/** The last FATAL line of plain output; without one, the last line at all, such as a loader's complaint. */
export function fatalOfOutput(text: string): string | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const line = lines.findLast((line) => /\b(FATAL|PANIC):/.test(line)) ?? lines.at(-1)
  return line?.replace(/^.*\b(?:FATAL|PANIC):\s+/, '')
}

/** The last FATAL entry of a JSON log that is not older than the start. */
export function fatalOfLog(text: string, started_at: number): string | undefined {
  for (const line of text.split('\n').toReversed()) {
    const entry = parseEntry(line)
    if (entry === undefined || !/^(FATAL|PANIC)$/.test(entry.severity)) continue
    return entry.time >= started_at ? entry.message : undefined
  }
  return undefined
}

function parseEntry(line: string) {
  try {
    const { timestamp, error_severity, message } = JSON.parse(line) as Record<string, unknown> // checked field by field below
    if (typeof timestamp !== 'string' || typeof error_severity !== 'string' || typeof message !== 'string')
      return undefined
    return { time: Date.parse(timestamp.replace(' ', 'T').replace(' UTC', 'Z')), severity: error_severity, message }
  } catch {
    return undefined
  }
}

async function tailOfLog({ log }: Pick<Node, 'log'>): Promise<string> {
  const names = (await listNames(log)).filter((name) => name.endsWith('.json'))
  return tailOf(log, names.toSorted().at(-1) ?? 'none')
}

function tailOf(folder: string, name: string): string {
  const file = openFile(folder, name)
  if (file === undefined) return ''
  try {
    const { size } = fstatSync(file)
    const buffer = Buffer.alloc(Math.min(size, tail_bytes_max))
    const bytes = readSync(file, buffer, 0, buffer.length, size - buffer.length)
    return buffer.toString('utf8', 0, bytes)
  } finally {
    closeSync(file)
  }
}
