// One at a time: a process that works on a service of this host waits until no other process of the host does, also a process that
// has lost its lease, or works without one because the metadata store is unreachable. A turn ends with its work, with its process,
// or when its process, stopped for example, does not touch its file any more: such a process asks, when it goes on, before each change.
//
// Each has a file of its own, named after the service, the process and the stage, so a file of a dead process can be removed at any
// moment. `wait` is written first, then the others are read; `held` is written when none is before it, and the others are
// read once more: two processes that wrote at the same moment both see the other's file, and both step back.
import { existsSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isAlive, ownName, silenceMsOf, steadySeconds } from './process-name.ts'
import { undefinedIfAbsent } from './read.ts'

const poll_every_ms = 5
const sign_of_life_ms = 2_000
const silence_ms_max = 10_000
/** A change that has begun is over when another process takes the turn. */
const own_silence_ms_max = 8_000

/** Of this process: its own callers come one after the other. */
const last = new Map<string, Promise<unknown>>()

/** Throws when the turn may be another process's by now. Work that outlives its turn needs none. */
export type RequireTurn = () => void

export async function inTurn<T>(
  folder: string,
  key: string,
  work: (requireTurn: RequireTurn) => Promise<T>,
): Promise<T> {
  const queue = join(folder, key)
  const before = last.get(queue)
  const mine = (async () => {
    await before?.catch(() => undefined)
    return await withTurn(folder, key, work)
  })()
  last.set(queue, mine)
  try {
    return await mine
  } finally {
    if (last.get(queue) === mine) last.delete(queue)
  }
}

async function withTurn<T>(folder: string, key: string, work: (requireTurn: RequireTurn) => Promise<T>): Promise<T> {
  // In the name, not in the file: a file exists before its contents.
  const name = `${key}@${ownName().replaceAll('/', ',')}`
  const file = { wait: join(folder, `${name}.wait`), held: join(folder, `${name}.held`) }
  const removeFiles = () => Object.values(file).forEach((path) => rmSync(path, { force: true }))
  let touched_ms = Infinity
  const stoodStill = () => {
    // Once it was so, it stays so: the files are touched no more.
    if (performance.now() - touched_ms > own_silence_ms_max) touched_ms = -Infinity
    return touched_ms === -Infinity
  }
  const touch = () => {
    if (stoodStill()) return
    touched_ms = performance.now()
    Object.values(file).forEach(touchIfThere)
  }
  const wait = () => {
    removeFiles()
    writeFileSync(file.wait, '')
    touched_ms = performance.now()
    touch()
  }
  const requireTurn = () => {
    if (stoodStill()) throw new Error('the turn was lost: this process stood still')
  }
  const timer = setInterval(touch, sign_of_life_ms).unref()
  try {
    wait()
    for (;;) {
      const is_taken = isTaken(folder, key, name, file)
      // It has no turn to lose yet, but others may have taken it for dead and removed its file: it waits anew.
      if (stoodStill() || !existsSync(is_taken ? file.held : file.wait)) wait()
      else if (is_taken) break
      else await pause(poll_every_ms * (1 + Math.random()))
    }
    return await work(requireTurn)
  } finally {
    touched_ms = Infinity
    clearInterval(timer)
    removeFiles()
  }
}

function isTaken(folder: string, key: string, name: string, file: { wait: string; held: string }): boolean {
  const others = othersOf(folder, key, name)
  if (!others.every((other) => other.endsWith('.wait') && other > `${name}.wait`)) return false
  renameIfThere(file.wait, file.held)
  if (!othersOf(folder, key, name).some((other) => other.endsWith('.held'))) return true
  renameIfThere(file.held, file.wait)
  return false
}

/** A process that takes this one for dead may have removed it. */
function renameIfThere(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    undefinedIfAbsent(error)
  }
}

/** Of processes that live; files of dead processes are removed. */
function othersOf(folder: string, key: string, name: string): string[] {
  return readdirSync(folder).filter((other) => {
    if (!other.startsWith(`${key}@`) || other.startsWith(`${name}.`)) return false
    const path = join(folder, other)
    const owner = other.slice(other.indexOf('@') + 1, other.lastIndexOf('.')).replaceAll(',', '/')
    const silence_ms = silenceMsOf(path)
    // Its turn is over, or it has the other stage's name. It must not be removed: its owner may write it again right now.
    if (silence_ms === Infinity) return false
    if (isAlive(owner, path) && silence_ms < silence_ms_max) return true
    rmSync(path, { force: true })
    return false
  })
}

function touchIfThere(path: string): void {
  const now = steadySeconds()
  try {
    utimesSync(path, now, now)
  } catch {
    // The file has the other stage's name.
  }
}
