// The program behind test/backup/orphan.test.ts: runs restic as a server does, until it is killed.
import { newRestic } from '#server/backup/restic.ts'
import { parseBackupTarget } from '#server/backup-target.ts'

const [folder = '', password = '', to = '', as_root] = process.argv.slice(2)
const target = parseBackupTarget(`file://${folder}/repository`)
if (target === undefined) throw new Error('it needs a repository')
const secrets = { aws_access_key_id: undefined, aws_secret_access_key: undefined }
const restic = newRestic({ target, secrets, cache: `${folder}/cache`, key: { text: password } })
// As slowly as from a repository far away.
await restic(['restore', 'latest', '--target', to, '--limit-download', '20'], {
  timeout_seconds: 3600,
  as_root: as_root === 'as root',
})
