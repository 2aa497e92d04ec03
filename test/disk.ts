// A disk of its own for a test, small enough to be filled. It takes a root that may mount.
import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newDataDir, removeDataDir } from './data-dir.ts'

export const mib = 1024 ** 2

/** Why the tests that need it are skipped; empty where it is mounted. */
export const whySkipped = (mounted: boolean): string => (mounted ? '' : ' (skipped: it takes a root that may mount)')

export function mayMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'howdah-mount-'))
  const mounted = mountDisk(join(folder, 'disk'), 1)
  if (mounted) unmountDisk(join(folder, 'disk'))
  rmSync(folder, { recursive: true })
  return mounted
}

/** False where mounting is not permitted; then nothing is left. */
export function mountDisk(disk: string, size_mb: number): boolean {
  mkdirSync(disk)
  try {
    const options = `size=${size_mb}m,mode=0711`
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'howdah-test', disk], { stdio: 'ignore' })
    return true
  } catch {
    rmSync(disk, { recursive: true })
    return false
  }
}

/** Also while something uses it. */
export function unmountDisk(disk: string): void {
  execFileSync('umount', ['--lazy', disk])
}

/** A data directory whose databases lie on such a disk; the metadata store lies outside of it. */
export function newDataDirOnDisk(size_mb: number) {
  const data_dir = newDataDir()
  const disk = join(data_dir, 'local')
  const mounted = mountDisk(disk, size_mb)
  // Where every test is skipped nothing is cleaned up after them.
  if (!mounted) rmSync(data_dir, { recursive: true })
  return { data_dir, disk, mounted, why: whySkipped(mounted) }
}

/** When its server is closed. */
export async function removeDataDirOnDisk(data_dir: string, disk: string): Promise<void> {
  // Ends everything that runs on the disk and empties it; only the mounted folder itself cannot be removed yet.
  await removeDataDir(data_dir).catch(() => undefined)
  unmountDisk(disk)
  await removeDataDir(data_dir)
}

export function freeMb(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return (bavail * bsize) / mib
}

/** Of the file that guards the last space, which counts as free. */
export const heldMb = (disk: string): number =>
  (statSync(join(disk, 'reserve'), { throwIfNoEntry: false })?.size ?? 0) / mib

/** By this file of it: to the last byte, or but for so many megabytes. */
export function fillDisk(disk: string, file: string, left_mb = 0): void {
  const isEnough = (block: Buffer) => left_mb > 0 && freeMb(disk) - block.length / mib < left_mb
  const fd = openSync(file, 'w')
  try {
    for (const block of [Buffer.alloc(mib), Buffer.alloc(512)]) {
      try {
        while (!isEnough(block)) writeSync(fd, block)
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
      }
    }
  } finally {
    closeSync(fd)
  }
}
