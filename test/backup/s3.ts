// An S3 server on this machine, for repositories: the one of the Kubernetes rig, where that was built.
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { parseBackupTarget } from '#server/backup-target.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { newServicePorts } from '#test/ports.ts'
import { until } from '#test/until.ts'
import { has_restic } from './copied.ts'

const rig = join(homedir(), '.cache', 'howdah-rig', 'bin')
const program = existsSync(rig) ? readdirSync(rig).find((one) => one.startsWith('s3-')) : undefined
const lacks = !has_restic ? 'restic is not installed' : program === undefined ? `no S3 server is in ${rig}` : ''
/** For the name of a test that is skipped. */
export const why_no_s3 = lacks && ` (skipped: ${lacks})`

export const secrets = { aws_access_key_id: 'howdah', aws_secret_access_key: 'a-secret-of-a-test' }

export const s3TargetAt = (url: string, prefix = 'here') =>
  parseBackupTarget(`s3://backups/${prefix}?endpoint=${url}`) ?? expect.fail()

/** Started again, it has what it had. */
export function newS3() {
  const folder = newDataDir()
  const ports = newServicePorts()
  const url = `http://127.0.0.1:${ports.first}`
  let server: ChildProcess | undefined
  mkdirSync(join(folder, 'backups'))
  return {
    url,
    /** Of the test's own. */
    other_port: ports.last,
    target: s3TargetAt(url),
    start: async () => {
      const env = { ROOT_ACCESS_KEY: secrets.aws_access_key_id, ROOT_SECRET_KEY: secrets.aws_secret_access_key }
      const words = ['--port', new URL(url).host, 'posix', folder]
      server = spawn(join(rig, program ?? ''), words, { env, stdio: 'ignore' })
      await until(() => fetch(url).then(() => true), { what: 'the S3 server answers' })
    },
    signal: (name: NodeJS.Signals) => server?.kill(name),
    remove: async () => {
      server?.kill('SIGKILL')
      await removeDataDir(folder)
    },
  }
}
