// Reads the packs of a repository and compares them with their checksums: without that, restic itself does not see a flipped bit.
import { type Restic, ResticError } from './restic.ts'

const timeout_seconds = 24 * 3600
/** A thirtieth of the packs each night. */
const parts = 30
const day_ms = 86_400_000

/** It would go on to look for each missing pack again and again, a minute for each folder that it has. */
const ends_at = /^(pack [0-9a-f]+: does not exist)$[^]* retrying after /m

/** Throws what is damaged. */
export async function readPacks(restic: Restic, which = '--read-data'): Promise<void> {
  await restic(['check', '--no-lock', which], { timeout_seconds, ends_at })
}

/** A sentence: what is damaged, with the pack. What keeps the repository from being read is thrown. */
export async function checkRepository(
  restic: Restic,
  { now, all }: { now: Date; all: boolean },
): Promise<string | undefined> {
  const subset = `--read-data-subset=${(Math.floor(now.getTime() / day_ms) % parts) + 1}/${parts}`
  try {
    await readPacks(restic, all ? undefined : subset)
    return undefined
  } catch (error) {
    if (error instanceof ResticError && /contains? errors|\bpack [0-9a-f]{8}/.test(error.message)) return error.message
    throw error
  }
}
