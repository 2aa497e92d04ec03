// Control groups of version 2 as the kernel has them: who is in them and in those that were made inside, and the end of all at once.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { groupsOf, killMembers, membersOf, removeInner } from '#providers/local/host/group-members.ts'
import { type Hierarchy, parseCgroupMounts } from '#providers/local/host/limits.ts'
import { newInstallationId } from '#test/run/traces.ts'
import { until } from '#test/until.ts'

const { v2 } = parseCgroupMounts(readFileSync('/proc/self/mountinfo', 'utf8'))
const parent = join(v2 ?? '', `howdah-${newInstallationId()}`)
const possible = process.getuid?.() === 0 && existsSync(join(v2 ?? '/nowhere', 'cgroup.procs'))
const why = possible ? '' : ' (skipped: it takes root and control groups of version 2)'

test.skipIf(why)(
  `all members of a group are killed in one step, those of groups inside too, and no others${why}`,
  async () => {
    const hierarchy: Hierarchy = { version: 2, parents: [parent], directories: { cpu: parent, memory: parent } }
    const groups = ['one', 'one-pooler', 'one/inner', 'one/inner/most', 'onetwo']
    for (const group of ['', ...groups]) mkdirSync(join(parent, group))
    onTestFinished(async () => {
      for (const group of groups) killMembers(hierarchy, group)
      for (const group of [...groups.toReversed(), '']) await removed(join(parent, group))
    })
    const [near, deep, other] = [sleepIn('one'), sleepIn('one/inner/most'), sleepIn('onetwo')]
    await until(() => membersOf(hierarchy, 'one').length === 2 && membersOf(hierarchy, 'onetwo').length === 1)
    expect(groupsOf(hierarchy, 'one').toSorted()).toEqual(['one', 'one-pooler'])
    expect(new Set(membersOf(hierarchy, 'one'))).toEqual(new Set([near, deep]))
    killMembers(hierarchy, 'one')
    await until(() => membersOf(hierarchy, 'one').length === 0)
    expect(membersOf(hierarchy, 'onetwo')).toEqual([other])
    await until(() => {
      removeInner(hierarchy, 'one')
      return !existsSync(join(parent, 'one', 'inner'))
    })
    expect(existsSync(join(parent, 'one'))).toBe(true)
  },
)

/** The id of a process that sleeps in the group. */
function sleepIn(group: string): number {
  const script = `echo 0 > ${join(parent, group, 'cgroup.procs')} && exec sleep 600`
  const child = spawn('/bin/sh', ['-c', script], { stdio: 'ignore' })
  onTestFinished(() => void spawnSync('kill', ['-9', String(child.pid)], { stdio: 'ignore' }))
  return child.pid ?? 0
}

async function removed(folder: string): Promise<void> {
  await until(() => {
    if (existsSync(folder)) rmdirSync(folder)
    return true
  })
}
