// Where backups go, as an operator names it: `file:///mnt/nas/howdah` or `s3://bucket/prefix?endpoint=https://…`. Pure. Secrets are no
// part of it: they come by the environment.

export type BackupTarget = {
  /** As it was given. */
  text: string
  /** As restic names it. */
  repository: string
  /** On a file system of this host; absent: elsewhere. */
  folder?: string
  /** Absent: as fast as it goes. */
  upload_kib_per_second?: number
}

const form = 'must be like file:///mnt/nas/howdah or s3://bucket/prefix?endpoint=https://s3.example.com'
const known = ['endpoint', 'upload_kib_per_second']

export function parseBackupTarget(text: string): BackupTarget | undefined {
  if (text === '') return undefined
  const url = URL.parse(text)
  if (url === null || !['file:', 's3:'].includes(url.protocol)) throw new Error(`${form}, not ${JSON.stringify(text)}`)
  if (url.username !== '' || url.password !== '') {
    throw new Error('must not contain a secret; give it in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY')
  }
  const unknown = [...url.searchParams.keys()].find((key) => !known.includes(key))
  if (unknown !== undefined) throw new Error(`knows ${known.join(' and ')}, not ${JSON.stringify(unknown)}`)
  const upload_kib_per_second = Number(url.searchParams.get('upload_kib_per_second') ?? 0)
  if (!Number.isInteger(upload_kib_per_second) || upload_kib_per_second < 0) {
    throw new Error('has an upload_kib_per_second that is no whole number')
  }
  const place = url.protocol === 'file:' ? folderOf(url) : bucketOf(url)
  return { text, ...place, ...(upload_kib_per_second > 0 && { upload_kib_per_second }) }
}

function folderOf(url: URL): Pick<BackupTarget, 'repository' | 'folder'> {
  const folder = decodeURIComponent(url.pathname)
  if (url.host !== '' || folder === '/' || folder === '') throw new Error(`${form}: a file:// has three slashes`)
  return { repository: folder, folder }
}

function bucketOf(url: URL): Pick<BackupTarget, 'repository'> {
  const endpoint = url.searchParams.get('endpoint') ?? 'https://s3.amazonaws.com'
  const at = URL.parse(endpoint)
  if (url.host === '' || at === null || !/^https?:$/.test(at.protocol) || at.username !== '') {
    throw new Error(`${form}, not ${JSON.stringify(url.href)}`)
  }
  // Without empty parts, which restic leaves out too.
  const parts = [url.host, ...url.pathname.split('/').filter((part) => part !== '')]
  return { repository: `s3:${at.origin}/${parts.join('/')}` }
}
