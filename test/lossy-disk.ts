// A disk that can lose its power: an XFS file system in a file. What has not come to it by then is lost.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { signalIfThere } from '#providers/host/daemon.ts'
import { listHostProcesses, wordsOf } from '#providers/host/process.ts'
import { processesBelow } from '#test/provider/service-fixture.ts'
import { until } from './until.ts'

export type LossyDisk = {
  path: string
  /** Empty: it is there; else what a skipped test says. */
  why: string
  /** `named`: the names of its files have come to it, as a journal brings them there, whatever their content. What runs there ends. */
  losePower(how?: 'named'): void
  /** Has it again, with what had come to it. */
  mount(): Promise<void>
  remove(): void
}

export function newLossyDisk({ size, shares_blocks }: { size: string; shares_blocks: boolean }): LossyDisk {
  const directory = mkdtempSync(join(tmpdir(), 'howdah-test-power-'))
  const [path, image] = [join(directory, 'disk'), join(directory, 'image')]
  const mount = () => execFileSync('mount', ['-o', 'loop', image, path], { stdio: 'ignore' })
  const remove = () => rmSync(directory, { recursive: true, force: true })
  /** While a mount namespace of before has it, the file system without power is mounted once more. */
  const hasPower = () => {
    mount()
    try {
      return readdirSync(path)
    } catch {
      execFileSync('umount', [path])
      return false
    }
  }
  // PostgreSQL runs as another user, which must be able to walk in.
  chmodSync(directory, 0o711)
  mkdirSync(path)
  try {
    execFileSync('truncate', ['-s', size, image])
    execFileSync('mkfs.xfs', ['-q', '-m', `reflink=${shares_blocks ? 1 : 0}`, image], { stdio: 'ignore' })
    execFileSync('xfs_io', ['-V'], { stdio: 'ignore' })
    mount()
  } catch {
    const why = ' (skipped: it takes a root that may mount, and xfsprogs)'
    return { path, why, losePower: () => undefined, mount: async () => undefined, remove }
  }
  return {
    path,
    why: '',
    losePower: (how) => {
      execFileSync('xfs_io', ['-x', '-c', how === 'named' ? 'shutdown -f' : 'shutdown', path])
    },
    mount: async () => {
      await until(async () => {
        const left = await usersOf(path)
        for (const pid of left) signalIfThere(pid, 'SIGKILL')
        return left.length === 0
      })
      await until(() => execFileSync('umount', [path], { stdio: 'pipe' }), { what: `no process uses ${path}` })
      await until(hasPower, { what: `no other mount namespace has ${path}` })
    },
    remove: () => {
      execFileSync('umount', ['--lazy', path])
      remove()
    },
  }
}

/** Those that work below the path, and those that were told of it, such as a relay. */
async function usersOf(path: string): Promise<number[]> {
  const told = (await listHostProcesses()).filter((one) => wordsOf(one).some((word) => word.includes(path)))
  return [...(await processesBelow(path)).map(Number), ...told.map(({ pid }) => pid)]
}
