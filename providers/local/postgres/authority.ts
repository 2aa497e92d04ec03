// The files of the installation's certificate authority. Promises: an authority is made once, key and certificate always belong
// together, also when two processes make it at once or one is killed while making it. The private key leaves its 0600 file only into
// memory.
import assert from 'node:assert/strict'
import { chmod, mkdir, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { newAuthority, parseAuthority, type Authority } from '../../postgres/certificate.ts'
import { readIfThere } from '../../host/read.ts'
import { makeOnce, removeHalves } from '../host/aside.ts'
import { syncOne } from '../../host/sync.ts'

/** Finds the authority in this directory and makes it if there is none. */
export async function ensureAuthority(directory: string): Promise<Authority> {
  const found = await findAuthority(directory)
  if (found) {
    await removeHalves(directory)
    return found
  }
  await makeOnce(directory, writeAuthority)
  await syncOne(dirname(directory))
  const made = await findAuthority(directory)
  assert(made, 'an authority that was just made is there')
  return made
}

async function findAuthority(directory: string): Promise<Authority | undefined> {
  const [certificate_pem, key_pem] = await Promise.all([
    readIfThere(join(directory, 'ca.pem')),
    readIfThere(join(directory, 'ca.key')),
  ])
  if (certificate_pem === undefined && key_pem === undefined) return undefined
  const both = certificate_pem !== undefined && key_pem !== undefined
  const authority = both ? await parseAuthority({ certificate_pem, key_pem }) : undefined
  if (authority !== undefined) return authority
  throw new Error(
    `the certificate authority in ${directory} is damaged: ca.pem and ca.key must both exist and belong together; ` +
      'restore them from a backup, or remove the directory to get a new authority, which every client must then trust anew',
  )
}

async function writeAuthority(directory: string): Promise<void> {
  const { certificate_pem, key_pem } = await newAuthority()
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await writeDurably(join(directory, 'ca.key'), key_pem, 0o600)
  await writeDurably(join(directory, 'ca.pem'), certificate_pem, 0o644)
  await chmod(directory, 0o711)
}

async function writeDurably(path: string, text: string, mode: number): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.chmod(mode)
    await file.sync()
  } finally {
    await file.close()
  }
}
