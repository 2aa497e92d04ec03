// What processes of this machine have used, as the kernel counts it.
import { readdirSync, readFileSync } from 'node:fs'

const ticks_per_second = 100

/** Resident: now, or the most that it was. */
export function memoryMbOf(pid: number, field: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(fileOf(String(pid), 'status'))?.[1]) / 1024
}

/** User and system time in seconds, with that of children that have ended. */
export const secondsOf = (pid: number | string): number => secondsIn(String(pid), 4)

/** The same without that of children. */
export const ownSecondsOf = (pid: number): number => secondsIn(String(pid), 2)

function secondsIn(pid: string, fields: 2 | 4): number {
  const ticks = fieldsOf(pid).slice(11, 11 + fields)
  return ticks.reduce((sum, field) => sum + Number(field), 0) / ticks_per_second
}

/** Of the postmasters whose command line names the folder, and of their children. */
export function secondsOfPostgres(folder: string): number {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const postmasters = new Set(pids.filter((pid) => isPostmasterOf(folder, fileOf(pid, 'cmdline').split('\0'))))
  return pids
    .filter((pid) => postmasters.has(pid) || postmasters.has(fieldsOf(pid)[1] ?? ''))
    .reduce((sum, pid) => sum + secondsOf(pid), 0)
}

function isPostmasterOf(folder: string, [program = '', ...words]: string[]): boolean {
  return program.endsWith('/postgres') && words.some((word) => word.startsWith(folder))
}

function fieldsOf(pid: string): string[] {
  const stat = fileOf(pid, 'stat')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

function fileOf(pid: string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}
