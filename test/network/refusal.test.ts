// What is said where there can be no networks, and which ranges a host does not give away.
import { execFileSync } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { vpcRefusal } from '#providers/local/vpc/refusal.ts'
import { nobody, without_user_namespaces } from '#test/privileges.ts'
import { why_no_networks as why } from './vpc-fixture.ts'

const program = join(import.meta.dirname, 'refusal-main.ts')

test.skipIf(why).each([
  ['an ordinary user without user namespaces', without_user_namespaces, nobody],
  [
    'root in a container that took the capabilities away',
    ['setpriv', '--bounding-set', '-sys_admin,-net_admin', '--'],
    0,
  ],
])(`for %s there are VPCs, but nothing can be in them, and it is said why${why}`, (_, privileges, uid) => {
  const directory = mkdtempSync(join(tmpdir(), 'howdah-refused-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  chownSync(directory, uid, uid)
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', program, directory]
  const [first = '', ...words] = [...privileges, ...node]
  const seen: unknown = JSON.parse(execFileSync(first, words, { encoding: 'utf8' }))
  const refusal = expect.stringMatching(
    /cannot be in a VPC: .*CAP_SYS_ADMIN and CAP_NET_ADMIN; .*run it as root, such as by a systemd unit/,
  )
  expect(seen).toMatchObject({
    doctor: {
      supported: false,
      finding: expect.stringContaining('CAP_SYS_ADMIN'),
      remedy: expect.stringContaining('root'),
    },
    refusal,
    made: { settled: false, waiting_for: refusal, peers: [] },
    deleted: { settled: true },
    attached: { state: 'not_serving', settled: false, waiting_for: refusal },
  })
})

test('a range that the host uses itself is refused by name, also in part', async () => {
  expect(await vpcRefusal('127.0.0.0/16')).toMatch(
    /127\.0\.0\.0\/16 overlaps 127\.0\.0\.\d.* at lo.*choose another range/,
  )
  // Reserved for documentation: no host has it.
  expect(await vpcRefusal('203.0.113.0/28')).toBeUndefined()
})
