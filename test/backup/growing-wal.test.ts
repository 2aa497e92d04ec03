// WAL is staged as links to files that the service's user can write to. A user who makes them long while they are copied keeps neither other
// services nor, once it is noticed, its own from the repository.
import { readdirSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseBackupTarget } from '#server/backup-target.ts'
import { ask } from '#test/database.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { type ReadyService, startInstallation, type TestInstallation } from '#test/installation.ts'
import { has_restic, initFor, untilCopied, why } from './copied.ts'

const segment = /^[0-9A-F]{24}$/
const grows_every_ms = 5
const nowhere = newDataDir()
const backup_to = parseBackupTarget(`file://${nowhere}/repository`) ?? expect.fail()
let howdah: TestInstallation | undefined

beforeAll(async () => {
  if (has_restic) howdah = await startInstallation({ config: { backup_to, backup_lag: 6 } })
})

afterAll(async () => {
  await howdah?.stop()
  await removeDataDir(nowhere)
})

test.skipIf(why)(
  `archived WAL that grows while it is copied is copied all the same, and that of others${why}`,
  async () => {
    const own = howdah ?? expect.fail()
    await initFor(own.config)
    const [grown, other] = [
      await own.createService({ cpu_millis: 'shared' }),
      await own.createService({ cpu_millis: 'shared' }),
    ]
    const at = ({ service_id }: ReadyService) => `${own.services}/${service_id}`
    await untilCopied(own.call, at(grown))
    const home = join(own.config.data_dir, 'local', 'services', grown.service_id)
    const growing = grow(join(home, 'archive'), join(home, 'backup', 'archive'))
    try {
      for (const service of [grown, other]) {
        const sql = (text: string) => ask(own.server.api_url, service, service.initial_password, text)
        await sql('create table orders as select n, repeat(md5(n::text), 8) from generate_series(1, 100000) n')
      }
      await untilCopied(own.call, at(other))
      expect(growing.grown()).toBeGreaterThan(0)
    } finally {
      growing.end()
    }
    await untilCopied(own.call, at(grown))
  },
)

/** Each file of the archive, once it is linked, becomes a terabyte long, of holes, and in the end what it was. */
function grow(archive: string, links: string) {
  const grown = new Map<string, number>()
  const timer = setInterval(() => {
    const linked = new Set(readdirSync(links))
    for (const name of readdirSync(archive).filter((one) => segment.test(one) && linked.has(one) && !grown.has(one))) {
      const path = join(archive, name)
      grown.set(name, statSync(path).size)
      truncateSync(path, 1024 ** 4)
    }
  }, grows_every_ms)
  const end = () => {
    clearInterval(timer)
    for (const [name, bytes] of grown) truncateSync(join(archive, name), bytes)
  }
  return { grown: () => grown.size, end }
}
