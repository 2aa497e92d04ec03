// What a target of backups may look like, and what restic is told.
import { expect, test } from 'vitest'
import { parseBackupTarget } from './backup-target.ts'

test.each([
  ['', undefined],
  ['file:///mnt/nas/howdah', { repository: '/mnt/nas/howdah', folder: '/mnt/nas/howdah' }],
  ['file:///mnt/a%20b', { repository: '/mnt/a b', folder: '/mnt/a b' }],
  ['s3://bucket/some/prefix', { repository: 's3:https://s3.amazonaws.com/bucket/some/prefix' }],
  ['s3://bucket//some//prefix/', { repository: 's3:https://s3.amazonaws.com/bucket/some/prefix' }],
  ['s3://bucket?endpoint=http://127.0.0.1:7070', { repository: 's3:http://127.0.0.1:7070/bucket' }],
  [
    's3://bucket/p/?endpoint=https://s3.example.com&upload_kib_per_second=512',
    { repository: 's3:https://s3.example.com/bucket/p', upload_kib_per_second: 512 },
  ],
])('%s is a target', (text, expected) => {
  expect(parseBackupTarget(text)).toEqual(expected && { text, ...expected })
})

test.each([
  'somewhere',
  '/mnt/nas',
  'file://mnt/nas',
  'file:///',
  'ftp://host/folder',
  's3://key:secret@bucket/prefix',
  's3://bucket?endpoint=nowhere',
  's3://bucket?region=eu',
  's3://bucket?upload_kib_per_second=fast',
])('%s is none', (text) => {
  expect(() => parseBackupTarget(text)).toThrow()
})
