// What is said where there can be no networks. Which ranges a host does not give away: see test/security/vpc-ranges.test.ts.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { why_no_networks as why } from './vpc-fixture.ts'

const program = join(import.meta.dirname, 'refusal-main.ts')

// An ordinary user without user namespaces is told by the API: see test/http/vpc-attach.test.ts.
const without_capabilities = ['--bounding-set', '-sys_admin,-net_admin', '--']

test.skipIf(why)(`root of a container that took the capabilities away has VPCs that nothing can be in${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'howdah-refused-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', program, directory]
  const printed = execFileSync('setpriv', [...without_capabilities, ...node], { encoding: 'utf8' })
  const seen: unknown = JSON.parse(printed)
  const refusal = expect.stringMatching(
    /cannot be in a VPC: .*CAP_SYS_ADMIN and CAP_NET_ADMIN; run it as root, such as by a systemd unit/,
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
