// The control plane's SQL as text: which files open sessions at a service, and that no statement of theirs names a relation or a
// function of PostgreSQL without its schema. It reads text, not types: cheap, and its rules can be read here.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { optionsOf } from '#providers/postgres/session-settings.ts'

const root = join(import.meta.dirname, '..', '..', 'providers')
const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8').replaceAll(/^\s*(\/\/|\*|\/\*\*).*$/gm, '') }))

const filesWith = (pattern: RegExp) => sources.filter(({ text }) => pattern.test(text)).map(({ file }) => file)

test('sessions at a service are opened in four files, and superusers are in a tenant’s database for five reasons only', () => {
  expect(filesWith(/new pg\.(Client|Pool)\b/).toSorted()).toEqual([
    'local/ha/position.ts',
    'local/postgres/superuser.ts',
    // As roles made for the statement, which are no superusers.
    'local/query/query.ts',
    'local/service/mask.ts',
  ])
  expect(filesWith(/withSuperuser\([^)]*database/).toSorted()).toEqual([
    // In a copy that no client reaches, and that is removed afterwards.
    'local/backup/drill-checks.ts',
    'local/pooler/role.ts',
    'local/postgres/extensions.ts',
    'local/postgres/read-only-session.ts',
    'local/postgres/superuser.ts',
    // Catalogs alone are changed, by a statement that runs nothing of a tenant's.
    'local/service/mask.ts',
  ])
})

test('every relation and function of PostgreSQL in a statement has its schema', () => {
  const unqualified = sources.flatMap(({ file, text }) =>
    [...text.matchAll(/(?<![\w.])pg_(?!catalog\b|temp\b)\w+\(|\b(?:from|join|update|into) pg_(?!catalog\.)\w+/g)].map(
      ([found]) => `${file}: ${found}`,
    ),
  )
  // One statement of the template is said to single-user PostgreSQL, before there is any tenant.
  expect(unqualified).toEqual(['local/postgres/template.ts: pg_switch_wal('])
})

test('the settings of a session come in one packet that every server from 16 on understands', () => {
  const names = (options: string) => Array.from(options.matchAll(/-c ([a-z_]+)=/g), ([, name]) => name)
  const known = names(optionsOf({ statement_timeout_ms: 1 }))
  expect(known).toEqual(expect.arrayContaining(['search_path', 'role', 'statement_timeout', 'lock_timeout']))
  expect(known).not.toContain('transaction_timeout')
  expect(names(optionsOf({ statement_timeout_ms: 1, major: 17 }))).toEqual([
    ...known,
    'transaction_timeout',
    'event_triggers',
  ])
  expect(optionsOf({ statement_timeout_ms: 1 })).toContain('-c search_path=pg_catalog,pg_temp ')
})
