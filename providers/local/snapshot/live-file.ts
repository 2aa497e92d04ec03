// Copies one file that somebody may be writing, cutting short, replacing or removing at this moment: a file of a running
// PostgreSQL. Blocks are shared where the file system can.
// 1. It ends: Node's own copyFile goes round for ever when its source shrinks under it.
// 2. It copies only what lies where it seems to lie: the source was opened by tenant-files.ts, which follows no link.
import { closeSync, constants, copyFileSync, fstatSync, lchownSync, readSync, writeFileSync } from 'node:fs'
import { copyFile, type FileHandle, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isDiskFull } from '../host/look.ts'
import { requireRoom, room_every_bytes, withRoomFor } from '../host/room.ts'
import { openFile, pathOf } from '../host/tenant-files.ts'
import { pathIn, type WalFolder } from '../wal/wal.ts'

/**
 * `possible` is remembered over one tree, so that a file system without cloning is asked once. `quiet`: nobody writes to the
 * tree, so the system may copy its files by itself. `leave_room`: not into the last space of the disk.
 */
export type Cloning = { possible: boolean; quiet?: boolean; leave_room?: boolean }

/** Up to here a file is copied at one go: the detour through other threads would cost more. */
const small_bytes_max = 128 * 1024
/** Larger ones are no faster, and what a copy leaves behind for the garbage collector stays with the process as holes. */
const chunk_bytes = 256 * 1024
/** Every copy is flushed in the end: what is on its way to the disk by then need not be waited for. */
const flush_every_bytes = 32 * 1024 ** 2
/** For small files: what is read into it is written at once. */
const scratch = Buffer.allocUnsafeSlow(small_bytes_max)

/** What was seen of the file before it was copied. */
export type Seen = { size: number; mode: number }

/** ENOENT is thrown when the file is gone. */
export async function copyLiveFile(from: WalFolder, name: string, target: string, cloning: Cloning): Promise<void> {
  const source = openFile(from.folder, pathIn(from, name))
  if (source === undefined) throw gone(name)
  await copyOpened(source, target, cloning)
}

/** Closes the source. The copy may have its mode. */
export async function copyOpened(source: number, target: string, cloning: Cloning): Promise<Seen> {
  try {
    return copyIfSmall(source, target, cloning) ?? (await copyLarge(source, target, cloning))
  } finally {
    closeSync(source)
  }
}

/** At once: with its blocks shared that takes as long as to ask another thread for it. Undefined: it is not small. */
export function copyIfSmall(source: number, target: string, cloning: Cloning): Seen | undefined {
  const seen = fstatSync(source)
  if (seen.size > small_bytes_max) return undefined
  if (seen.size === 0 || !cloneSmall(source, target, cloning)) copySmall(source, target, seen)
  return seen
}

function cloneSmall(source: number, target: string, cloning: Cloning): boolean {
  if (!cloning.possible) return false
  try {
    copyFileSync(pathOf(source), target, constants.COPYFILE_FICLONE_FORCE)
    makeOurs(target)
  } catch (error) {
    giveUpCloning(cloning, error)
  }
  return cloning.possible
}

function copySmall(source: number, target: string, { size }: Seen): void {
  const bytes = size === 0 ? 0 : readSync(source, scratch)
  writeFileSync(target, scratch.subarray(0, bytes), { mode: 0o600 })
}

/** In other threads: before its blocks are shared, all that was written to a file must be on the disk. */
async function copyLarge(source: number, target: string, cloning: Cloning): Promise<Seen> {
  const seen = fstatSync(source)
  if (await cloneLarge(source, target, cloning)) return seen
  const copyWhole = () => copyByNode(source, target, 0)
  if (!cloning.quiet) await copyInChunks(source, target, cloning)
  else if (!cloning.leave_room) await copyWhole()
  else await withRoomFor({ path: target, bytes: seen.size }, copyWhole)
  return seen
}

async function cloneLarge(source: number, target: string, cloning: Cloning): Promise<boolean> {
  if (!cloning.possible) return false
  try {
    await copyByNode(source, target, constants.COPYFILE_FICLONE_FORCE)
    return true
  } catch (error) {
    giveUpCloning(cloning, error)
    return false
  }
}

async function copyByNode(source: number, target: string, flags: number): Promise<void> {
  await copyFile(pathOf(source), target, flags)
  makeOurs(target)
}

/** Node's copyFile gives the copy to its source's user. */
function makeOurs(target: string): void {
  lchownSync(target, process.getuid?.() ?? 0, process.getgid?.() ?? 0)
}

function giveUpCloning(cloning: Cloning, error: unknown): void {
  if (isDiskFull(error)) throw error
  cloning.possible = false
}

async function copyInChunks(source: number, target: string, { leave_room }: Cloning): Promise<void> {
  const from = await open(pathOf(source), 'r')
  const to = await open(target, 'w', 0o600)
  const flush = newFlush(to)
  try {
    const buffer = Buffer.allocUnsafe(chunk_bytes)
    for (let at = 0; ;) {
      const { bytesRead } = await from.read(buffer, 0, chunk_bytes, at)
      if (bytesRead === 0) return await flush.end()
      for (let written = 0; written < bytesRead;) {
        written += (await to.write(buffer, written, bytesRead - written, at + written)).bytesWritten
      }
      at += bytesRead
      if (at % flush_every_bytes < bytesRead) flush.begin()
      if (leave_room && at % room_every_bytes < bytesRead) requireRoom(dirname(target))
    }
  } finally {
    await Promise.all([from.close(), to.close()])
  }
}

/** One at a time, of all files: it keeps one of the four threads behind Node's file calls busy. */
let flushing = false

function newFlush(file: FileHandle) {
  let failure: unknown
  let under_way: Promise<void> | undefined
  const begin = () => {
    if (flushing) return
    flushing = true
    under_way = file
      .datasync()
      .catch((error: unknown) => void (failure ??= error))
      .finally(() => (flushing = false))
  }
  /** The system tells of a failure only once: nobody would hear of it later. */
  const end = async () => {
    await under_way
    if (failure !== undefined) throw failure
  }
  return { begin, end }
}

/** For what is not where it was seen. */
function gone(name: string): Error {
  return Object.assign(new Error(`${name} is not there any more`), { code: 'ENOENT' })
}
