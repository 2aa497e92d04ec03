// Small files of the installation, each there whole or not at all, whatever happens meanwhile. They are on the disk afterwards: a loss of
// power neither takes a key from what it sealed nor a note from what it is about.
import { randomUUID } from 'node:crypto'
import { link, rename, unlink, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errorCode } from '#providers/host/read.ts'
import { syncOne } from '#providers/host/sync.ts'

/** It has its old text or its new one. */
export async function replaceWhole(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600, flush: true })
  await rename(`${path}.new`, path)
  await syncOne(dirname(path))
}

/** Made once and found again for ever; of several makers the first one wins. Whether that was this one. */
export async function makeOnce(path: string, text: string): Promise<boolean> {
  const aside = `${path}.${randomUUID()}`
  await writeFile(aside, text, { mode: 0o600, flush: true })
  try {
    // link, not rename: it replaces nothing.
    await link(aside, path)
    return true
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
    return false
  } finally {
    await unlink(aside)
    await syncOne(dirname(path))
  }
}
