// A server that is killed while restic runs for it: what goes on by itself would store, or restore, beside what the next server does.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { mayGiveUsers } from '#providers/host/privilege.ts'
import { type HostProcess, listHostProcesses, wordsOf } from '#providers/host/process.ts'
import { unprivileged } from '#providers/host/user-map.ts'
import { newRestic } from '#server/backup/restic.ts'
import { parseBackupTarget } from '#server/backup-target.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { until } from '#test/until.ts'
import { has_restic, why } from './copied.ts'

const folder = newDataDir()
const targetAt = (name: string) => parseBackupTarget(`file://${folder}/${name}`) ?? expect.fail()
const target = targetAt('repository')
const secrets = { aws_access_key_id: undefined, aws_secret_access_key: undefined }
const password = 'the-secret-of-an-orphan'
const to = join(folder, 'cache', 'restored')
const file = join(folder, 'large')
/** Of the servers that are killed. */
const temporary = join(folder, 'tmp')
const env = { ...process.env, TMPDIR: temporary }
const large_bytes = 8 * 1024 ** 2

const listRestic = async () => (await listHostProcesses()).filter((one) => wordsOf(one).includes(to))

beforeAll(async () => {
  if (!has_restic) return
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o755)
  mkdirSync(temporary)
  for (const name of ['repository', 'cache']) mkdirSync(join(folder, name))
  const { uid, gid } = unprivileged
  for (const name of ['repository', 'cache']) if (mayGiveUsers()) chownSync(join(folder, name), uid, gid)
  const restic = newRestic({ target, secrets, cache: join(folder, 'cache'), key: { text: password } })
  await restic(['init'], { timeout_seconds: 60 })
  writeFileSync(file, randomBytes(large_bytes))
  await restic(['backup', file], { timeout_seconds: 60 })
})

afterAll(async () => {
  for (const { pid } of await listRestic()) process.kill(pid, 'SIGKILL')
  await removeDataDir(folder)
})

/** To be restored by a process that is killed then. */
async function killWhileRestored(rights: string): Promise<void> {
  const server = spawn(process.execPath, [join(import.meta.dirname, 'orphan-main.ts'), folder, password, to, rights], {
    env,
  })
  const ended = once(server, 'close')
  await until(() => existsSync(join(to, folder)), { what: 'it is being restored' })
  server.kill('SIGKILL')
  await ended
}

test.skipIf(why)(`restic ends with the process that runs it, also when that is killed${why}`, async () => {
  for (const rights of ['with less rights', 'as root']) {
    await killWhileRestored(rights)
    await until(async () => (await listRestic()).length === 0, { what: `restic ends, which runs ${rights}` })
    rmSync(to, { recursive: true })
  }
  // Nor is the key left that opens the repository.
  expect(readdirSync(temporary)).toEqual([])
})

test.skipIf(why)(`a new password is in no file of a server that is killed while restic adds it${why}`, async () => {
  const place = { data_dir: join(folder, 'data'), installation_id: 'orphan', target: targetAt('another'), secrets }
  mkdirSync(place.data_dir)
  const module = JSON.stringify(join(import.meta.dirname, '../../server/backup/repository.ts'))
  const program = `import { initRepository } from ${module}; await initRepository(${JSON.stringify(place)})`
  const words = ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '-e', program]
  const server = spawn(process.execPath, words, { cwd: import.meta.dirname, env, stdio: 'inherit' })
  const ended = once(server, 'close')
  const isAdding = ({ pid, parent }: HostProcess) =>
    parent === server.pid && wordsOf({ pid }).join(' ').includes('key add')
  await until(async () => (await listHostProcesses()).some(isAdding), { what: 'a key is being added' })
  server.kill('SIGKILL')
  await ended
  expect(readdirSync(temporary)).toEqual([])
})
