// Where a bench keeps its data: a folder of its own, on the given directory or on a file system made for the run.
// `--mount xfs` (copy-on-write) and `--mount ext4` (plain copies) make a loop mount; both need root. Whatever happens,
// the mount, its image and the folder are removed afterwards.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { withCleanup } from './cleanup.ts'

/** `gb`: sizes of the database, `services`: how many, `wal_mb`: how much WAL, `minutes`: how long, for benches to which they matter. */
export type Place = { folder: string; description: string } & Omit<Options, 'directory' | 'mount'>

const mounts = ['none', 'xfs', 'ext4'] as const
type Mount = (typeof mounts)[number]

/**
 * The image is sparse: it takes what is written. A database that is filled, archived, copied and replayed writes several
 * times its size.
 */
const image_gb_min = 12
const image_gb_per_gb = 10

/** moreGbOf: what the work writes beyond the usual. Reads the options, such as `--runs`, `--directory` and `--mount`, and runs the work in a fresh folder. */
export async function inPlace(
  runs_default: number,
  work: (place: Place) => Promise<void>,
  moreGbOf: (chosen: Options) => number = () => 0,
): Promise<void> {
  const options = parseOptions(runs_default)
  const { directory, mount, ...chosen } = options
  const own = mkdtempSync(join(directory, 'howdah-bench-'))
  // PostgreSQL runs as another user when the bench runs as root, and must be able to walk in.
  chmodSync(own, 0o755)
  const remove = () => rmSync(own, { recursive: true, force: true })
  await withCleanup(remove, async () => {
    if (mount === 'none') return await work({ folder: own, description: describe(own, directory), ...chosen })
    const at = join(own, 'mounted')
    await withCleanup(
      () => unmount(at),
      async () => {
        mountImage(mount, join(own, 'image'), at, imageGbOf(chosen.gb) + moreGbOf(options))
        await work({ folder: at, description: describe(at, directory), ...chosen })
      },
    )
  })
}

type Options = {
  runs: number
  gb: readonly number[]
  wal_mb: readonly number[]
  services: number
  minutes: number
  after_kill: boolean
  directory: string
  mount: Mount
}

function parseOptions(runs_default: number): Options {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: String(runs_default) },
      directory: { type: 'string', default: tmpdir() },
      mount: { type: 'string', default: 'none' },
      gb: { type: 'string', default: '1' },
      'wal-mb': { type: 'string', default: '0' },
      services: { type: 'string', default: '200' },
      minutes: { type: 'string', default: '60' },
      'after-kill': { type: 'boolean', default: false },
    },
  })
  const runs = Number(values.runs)
  const mount = mounts.find((known) => known === values.mount)
  if (!Number.isInteger(runs) || runs < 1 || runs > 1000) throw new Error('--runs: a whole number from 1 to 1000')
  if (mount === undefined) throw new Error(`--mount: one of ${mounts.join(', ')}`)
  const gb = values.gb.split(',').map(Number)
  if (!gb.every((size) => size > 0 && size <= 100)) throw new Error('--gb: sizes up to 100, separated by commas')
  const wal_mb = values['wal-mb'].split(',').map(Number)
  if (!wal_mb.every((size) => size >= 0 && size <= 2_000)) throw new Error('--wal-mb: up to 2000, separated by commas')
  const services = Number(values.services)
  if (!(services > 0 && services <= 1000)) throw new Error('--services: a whole number from 1 to 1000')
  const minutes = Number(values.minutes)
  if (!(minutes > 0 && minutes <= 1440)) throw new Error('--minutes: a number up to 1440')
  const after_kill = values['after-kill']
  return { runs, directory: values.directory, mount, gb, wal_mb, services, minutes, after_kill }
}

const imageGbOf = (gb: readonly number[]) => image_gb_min + image_gb_per_gb * Math.max(...gb)

function mountImage(kind: 'xfs' | 'ext4', image: string, at: string, image_gb: number): void {
  if (process.getuid?.() !== 0) {
    throw new Error('--mount needs root; or give --directory a folder on such a file system')
  }
  mkdirSync(at)
  const { bavail, bsize } = statfsSync(dirname(image))
  if (bavail * bsize < image_gb * 1e9) {
    throw new Error(`this needs ${image_gb} GB of free space; choose a smaller --gb or another --directory`)
  }
  execFileSync('truncate', ['-s', `${image_gb}GB`, image])
  try {
    execFileSync(`mkfs.${kind}`, ['-q', image], { stdio: ['ignore', 'ignore', 'pipe'] })
  } catch (error) {
    const debian_package = kind === 'xfs' ? 'xfsprogs' : 'e2fsprogs'
    throw new Error(`mkfs.${kind} failed; Debian has it in ${debian_package}`, { cause: error })
  }
  // Without discard: giving back to the disk below what one run has removed would keep the next one waiting for seconds.
  execFileSync('mount', ['-o', 'loop', image, at])
  chmodSync(at, 0o755)
}

function unmount(at: string): void {
  // Lazily, so that a process that still sits there cannot keep the bench from cleaning up.
  for (const options of [[at], ['--lazy', at]]) {
    try {
      execFileSync('umount', options, { stdio: 'ignore' })
      return
    } catch {
      continue
    }
  }
}

function describe(folder: string, directory: string): string {
  return `${execFileSync('stat', ['-f', '-c', '%T', folder], { encoding: 'utf8' }).trim()}, under ${directory}`
}
