// Starts with --isolate: which share what, and which are refused, each with what is missing and nothing changed.
import { readdirSync, statSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { listHostProcesses } from '#providers/host/process.ts'
import { idsOf } from '#providers/host/privilege.ts'
import { howdah, startHowdah } from '#test/e2e/howdah.ts'
import { as_root } from '#test/provider/service-fixture.ts'
import {
  newPlace,
  newSharedPlace,
  newSubIdUser,
  removePlace,
  type SubIdUser,
  why_no_sub_ids as why,
} from '#test/sub-ids.ts'
import { until } from '#test/until.ts'

const why_not_lost = as_root ? '' : ' (skipped: only root can take sub ids away)'
const why_not_few = as_root ? '' : ' (skipped: only root can give sub ids)'

describe.skipIf(why)(`starts of an ordinary user with sub ids${why}`, () => {
  let user: SubIdUser
  /** Of the tests that need one which is isolated: making it takes seconds. */
  let isolated: ReturnType<typeof newSharedPlace>
  beforeAll(() => {
    user = newSubIdUser()
    isolated = newSharedPlace(user)
  })
  afterAll(async () => {
    await removePlace(isolated.data_dir)
    user.remove()
  })

  test('two servers that make a data directory at once share its namespace, so each can end what the other starts', async () => {
    const { words } = isolated
    const both = await Promise.all([1, 2].map(() => startHowdah(['--isolate', ...words], {}, user.prefix)))
    const [first, second] = both.map(({ pid }) => statSync(`/proc/${pid}/ns/user`).ino)
    expect(first).toBe(second)
    await Promise.all(both.map((each) => each.end()))
    expect((await howdah(['stop', '--all', ...words], {}, user.prefix)).code).toBe(0)
  })

  test.skipIf(why_not_lost)(
    `a user that has lost its sub ids is told so, and nothing is changed${why_not_lost}`,
    async () => {
      const { words } = isolated
      const first = await startHowdah(['--isolate', ...words], {}, user.prefix)
      const map = idsOf(first.pid, 'uid')
      await first.end()
      expect((await howdah(['stop', '--all', ...words], {}, user.prefix)).code).toBe(0)
      for (const { pid } of await listInside(map)) process.kill(pid, 'SIGKILL')
      await until(async () => (await listInside(map)).length === 0, { what: 'the namespace is empty' })
      const without = newSubIdUser(0)
      onTestFinished(() => without.remove())
      const { code, stderr } = await howdah(['start', ...words], {}, without.prefix)
      expect(code).toBe(1)
      expect(stderr).toMatch(
        /^howdah: \S+ is isolated, and its users cannot be had \(newuidmap: .*not allowed\); \/etc\/subuid/,
      )
      expect(await (await startHowdah(words, {}, user.prefix)).end()).toBe(0)
    },
  )

  test.skipIf(why_not_few)(
    `more ports than there are users are refused, with the last that has one${why_not_few}`,
    async () => {
      const few = newSubIdUser(1_000)
      onTestFinished(() => few.remove())
      const [, fresh = ''] = newPlace(few)
      const { code, stderr } = await howdah(['start', '--isolate', '--data-dir', fresh], {}, few.prefix)
      expect(code).toBe(1)
      expect(stderr).toMatch(
        /^howdah: --isolate is refused: \/etc\/subuid gives \w+ 1000 sub ids.* up to 29999 need 30000; .*usermod --add-subuids/,
      )
    },
  )

  test('where ordinary users may not have user namespaces, that is said', async () => {
    const [, fresh = ''] = newPlace(user)
    const none =
      'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --inh-caps=-all --ambient-caps=-all -- "$@"'
    const inside = ['unshare', '--user', `--map-user=${user.uid}`, `--map-group=${user.uid}`, '--keep-caps', '--']
    const prefix = [...user.prefix, ...inside, 'sh', '-c', none, 'sh']
    const { code, stderr } = await howdah(['start', '--isolate', '--data-dir', fresh], {}, prefix)
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^howdah: --isolate is refused: a user namespace with sub ids cannot be made \(unshare: .*sysctl/m,
    )
    expect(readdirSync(fresh)).toEqual([])
  })

  test('a data directory that was made without the word is refused with it, and stays as it was', async () => {
    const words = newPlace(user)
    const shared = await startHowdah(words, {}, user.prefix)
    expect(shared.output()).toMatch(/Warning .* with --isolate/)
    await shared.end()
    const refused = await howdah(['start', ...words], { HOWDAH_ISOLATE: 'yes' }, user.prefix)
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/--isolate is refused: .* was made without it/),
    })
    const again = await startHowdah(words, {}, user.prefix)
    expect(await again.end()).toBe(0)
  })
})

const listInside = async (map: string) => (await listHostProcesses()).filter(({ pid }) => idsOf(pid, 'uid') === map)
