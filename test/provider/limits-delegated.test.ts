// An ordinary user to whom a control group was delegated, as systemd does it: limits are enforced below that group. Only where
// the controllers are version 2's, and only by root, who delegates.
import { execFile } from 'node:child_process'
import { chown, mkdir, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openLimits } from '#providers/local/host/limits.ts'
import { newInstallationId } from '#test/run/traces.ts'

const user = 70_001
const id = newInstallationId()
const { hierarchy } = await openLimits(newInstallationId())
const possible = process.getuid?.() === 0 && hierarchy?.version === 2
const why = possible ? '' : ' (skipped: it takes root and cpu and memory control groups of version 2)'
const delegated = join(dirname(hierarchy?.parents[0] ?? ''), `howdah-${newInstallationId()}`)

beforeEach(async () => {
  if (!possible) return
  await mkdir(`${delegated}/server`, { recursive: true })
  await writeFile(`${delegated}/../cgroup.subtree_control`, '+cpu +memory')
  for (const file of ['', '/cgroup.procs', '/cgroup.subtree_control']) await chown(`${delegated}${file}`, user, user)
})

afterEach(async () => {
  if (!possible) return
  await rmdir(`${delegated}/server`)
  await rmdir(delegated)
})

/** What openLimits says to the user's process, which runs in the given group. */
async function limitsOfUser(group: string): Promise<unknown> {
  const program = `import { openLimits } from '#providers/local/host/limits.ts'
    process.setgroups([]); process.setgid(${user}); process.setuid(${user})
    console.log(JSON.stringify(await openLimits('${id}')))`
  const script = 'echo 0 > "$1" && exec "$2" --input-type=module -e "$3"'
  const args = ['-c', script, 'sh', `${group}/cgroup.procs`, process.execPath, program]
  return JSON.parse((await promisify(execFile)('/bin/sh', args)).stdout)
}

test.skipIf(why)(`a delegated group is used, and nothing is left in it${why}`, async () => {
  expect(await limitsOfUser(`${delegated}/server`)).toMatchObject({
    enforced: true,
    hierarchy: { version: 2, parents: [`${delegated}/howdah-${id}`] },
  })
})

test.skipIf(why)(
  `a delegated group with the server itself in it cannot have limits below, which is said${why}`,
  async () => {
    expect(await limitsOfUser(delegated)).toMatchObject({
      enforced: false,
      description: expect.stringContaining('EBUSY'),
    })
  },
)
