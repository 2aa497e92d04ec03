// A container may run programs as a user id without a name, which PostgreSQL refuses with words that name no remedy.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readable } from '#test/privileges.ts'

const why = process.getuid?.() === 0 ? '' : ' (skipped: only root can be another user)'

test.skipIf(why)(`a user id without a name is told what to do${why}`, () => {
  const module = readable(join(import.meta.dirname, '../../providers/host/user-name.ts'))
  const script = `const { ownUserName } = await import('${module}'); ownUserName()`
  const as_unnamed = ['--reuid', '4000000', '--regid', '4000000', '--clear-groups', readable(process.execPath)]
  const { stderr } = spawnSync('setpriv', [...as_unnamed, '--input-type=module', '--eval', script], {
    encoding: 'utf8',
  })
  expect(stderr).toContain('the user id 4000000 has no name in /etc/passwd')
  expect(stderr).toContain('run Howdah as a user that has a name')
})
