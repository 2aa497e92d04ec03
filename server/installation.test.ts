// Table tests of the data directory: who may enter it, and its one id.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { id_form } from './id.ts'
import { InstallationError, openInstallation } from './installation.ts'

const as_root = process.getuid?.() === 0
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'howdah-test-'))
  chmodSync(folder, 0o755)
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('a data directory is made with its parents, and others may at most pass through it', async () => {
  const { data_dir, local_directory } = await openInstallation(join(folder, 'a', 'b'))
  for (const made of [data_dir, local_directory]) {
    expect(statSync(made).mode & 0o777).toBe(as_root ? 0o711 : 0o700)
  }
})

test('servers that start at once agree on one installation id, which stays', async () => {
  const opened = await Promise.all(Array.from({ length: 20 }, () => openInstallation(folder)))
  const ids = new Set(opened.map(({ installation_id }) => installation_id))
  expect(ids.size).toBe(1)
  expect([...ids][0]).toMatch(id_form)
  expect(await openInstallation(folder)).toEqual(opened[0])
  expect(readdirSync(folder).filter((name) => name.startsWith('installation-id'))).toEqual(['installation-id'])
})

test('a directory that is too open is closed', async () => {
  chmodSync(folder, 0o777)
  await openInstallation(folder)
  expect(statSync(folder).mode & 0o777).toBe(as_root ? 0o711 : 0o700)
})

test('a broken installation id is refused, not replaced', async () => {
  writeFileSync(join(folder, 'installation-id'), 'nonsense')
  await expect(openInstallation(folder)).rejects.toThrow('does not contain an installation id')
})

test('a lost installation id is refused, and no other one takes its place', async () => {
  await openInstallation(folder)
  rmSync(join(folder, 'installation-id'))
  writeFileSync(join(folder, 'secret.key'), '')
  await expect(openInstallation(folder)).rejects.toThrow(`${join(folder, 'installation-id')} is lost`)
  expect(readdirSync(folder).toSorted()).toEqual(['local', 'secret.key'])
})

test('a folder with other things in it is refused and left as it is', async () => {
  writeFileSync(join(folder, 'letters.txt'), '')
  await expect(openInstallation(folder)).rejects.toThrow('not empty (it has letters.txt)')
  expect(statSync(folder).mode & 0o777).toBe(0o755)
})

test('a path that is no directory is refused by name', async () => {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  await expect(openInstallation(file)).rejects.toThrow(`the data directory ${file} cannot be used`)
})

test('a folder that the kernel does not let be made is refused at once', async () => {
  await expect(openInstallation('/proc/nope/data')).rejects.toThrow('the data directory /proc/nope/data cannot be used')
})

const why = as_root ? '' : ' (skipped: only root can run as another user)'

test.skipIf(why)(`as root, a parent through which nobody else can pass is refused, with the remedy${why}`, async () => {
  const closed = join(folder, 'closed')
  mkdirSync(closed, { mode: 0o700 })
  await expect(openInstallation(join(closed, 'data'))).rejects.toThrow(InstallationError)
  await expect(openInstallation(join(closed, 'data'))).rejects.toThrow(`chmod o+x ${closed}`)
})
