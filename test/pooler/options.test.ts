// What a session asks for in `options` at its start: PgBouncer 1.20 and newer understands the settings that it keeps track of, and each
// refuses what it does not understand; none of them takes a setting and does not follow it.
import { expect, test } from 'vitest'
import { isAtLeast } from '#providers/postgres/pooler-settings.ts'
import { useWorlds } from '#test/provider/service-fixture.ts'
import { askThrough, loginThrough, newPooled, pooler_version, poolerTest, why_no_pooler } from './pooled.ts'

const { newWorld } = useWorlds()
const understands = isAtLeast(pooler_version, '1.20')
const why_not_new = why_no_pooler || (understands ? '' : ' (skipped: it takes PgBouncer 1.20)')
const why_not_old = why_no_pooler || (understands ? ' (skipped: it takes a PgBouncer before 1.20)' : '')
const databases = ['tsdb', 'tsdb_transaction']

test.skipIf(why_not_new)(
  `what is tracked holds for its session from transaction to transaction, and for no other${why_not_new}`,
  async () => {
    const pooled = await newPooled(await newWorld())
    const seen = `select current_setting('TimeZone') as zone, current_setting('IntervalStyle') as style,
                         current_setting('application_name') as name, current_setting('transaction_read_only') as reads`
    for (const database of databases) {
      const options = '-c TimeZone=Asia/Tokyo -c IntervalStyle=iso_8601 -c default_transaction_read_only=on'
      const asked = await loginThrough(pooled, { database, options: `${options} -c application_name=asked` })
      const other = await loginThrough(pooled, { database })
      // By transaction both have one connection, in turn.
      for (const round of [1, 2, 3]) {
        const [row] = (await asked.query(seen)).rows
        expect(row, `${database}, ${round}`).toEqual({
          zone: 'Asia/Tokyo',
          style: 'iso_8601',
          name: 'asked',
          reads: 'on',
        })
        expect((await other.query(seen)).rows[0], `${database}, ${round}`).toMatchObject({
          style: 'postgres',
          reads: 'off',
        })
      }
      await expect(asked.query('create table never (n int)')).rejects.toThrow(/read-only transaction/)
      await Promise.all([asked.end(), other.end()])
    }
  },
)

test.skipIf(why_not_old)(`an older one refuses options whatever they are, and says so${why_not_old}`, async () => {
  const pooled = await newPooled(await newWorld())
  for (const database of databases) {
    const asked = askThrough(pooled, 'select 1', { database, options: '-c TimeZone=Asia/Tokyo' })
    await expect(asked).rejects.toThrow('unsupported startup parameter: options')
  }
})

poolerTest('what cannot be kept for a session is refused, above all that it reads only', async () => {
  const pooled = await newPooled(await newWorld())
  const settings = [
    'tsdb_admin.read_only_connection=true',
    'statement_timeout=1000',
    'search_path=pg_catalog',
    'search_path=x;create\\ role\\ planted',
    'role=none',
    'no.such_setting=1',
  ]
  for (const database of databases) {
    for (const setting of settings) {
      const asked = askThrough(pooled, 'select 1', { database, options: `-c ${setting}` })
      const named = understands ? ` in options: ${setting.split('=')[0]}` : ': options'
      await expect(asked, `${database}, ${setting}`).rejects.toThrow(`unsupported startup parameter${named}`)
    }
  }
})
