// The process that owns the networks of an ordinary user lives for months. It must not keep file systems busy: a file system that the
// administrator unmounts must be free at once, with the disk below it.
import { execFileSync, spawnSync } from 'node:child_process'
import { chownSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { as_ordinary_user, unprivileged, readable } from '#test/privileges.ts'
import { as_root } from '#test/provider/service-fixture.ts'
import { until } from '#test/until.ts'

const can_mount = as_root && spawnSync('losetup', ['--find']).status === 0
const why = can_mount ? '' : ' (skipped: it takes root and a loop device)'
const main = join(import.meta.dirname, 'networks-owner-main.ts')

test.skipIf(why)(`a file system that is unmounted after an ordinary user has VPCs is free at once${why}`, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'howdah-test-owner-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [image, mounted, directory] = ['image', 'mounted', 'local'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const path of [mounted, directory, join(directory, 'run')]) mkdirSync(path)
  for (const path of [folder, directory, join(directory, 'run')]) chownSync(path, unprivileged, unprivileged)
  run('truncate', '--size=16M', image)
  run('mkfs.ext4', '-q', image)
  run('mount', '-o', 'loop', image, mounted)
  onTestFinished(() => void spawnSync('umount', [mounted]))
  expect(loopDevicesOf(image)).not.toBe('')
  asUser(directory)
  onTestFinished(() => asUser(directory, 'end'))
  const mounts = readFileSync(`${readlinkSync(join(directory, 'run/networks'))}/mountinfo`, 'utf8')
  run('umount', mounted)
  await until(() => loopDevicesOf(image) === '', { what: 'the disk is free' })
  // Nothing but where programs lie, what the kernel shows, and the networks themselves.
  const points = mounts.split('\n').flatMap((line) => line.split(' ')[4] ?? [])
  const folders = new Set(points.map((point) => (point.split('/')[1] ?? '').replace(/^lib\w*$/, 'lib')))
  for (const folder_kept of ['', 'usr', 'bin', 'sbin', 'lib', 'proc', 'run']) folders.delete(folder_kept)
  expect([...folders]).toEqual([])
})

const run = (program: string, ...args: string[]) => execFileSync(program, args, { encoding: 'utf8' })

const loopDevicesOf = (image: string) => run('losetup', '--associated', image).trim()

function asUser(directory: string, ...words: string[]): void {
  const [program = '', ...args] = as_ordinary_user
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', main].map(readable)
  execFileSync(program, [...args, ...node, directory, ...words], { stdio: 'pipe' })
}
