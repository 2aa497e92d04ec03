// Every statement of the server can be prepared in a store that has had all migrations, and its columns are those of the row type that
// the code reads. A column that is renamed in a migration, in a statement or in a type fails here.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrate } from '#server/store/migrate.ts'
import { copyServer, type Described, listStatements, readSource, readSources, stateColumns } from './statements.ts'
import { startTestStore, type TestStore, withDb } from './test-store.ts'

const root = join(import.meta.dirname, '../..')
const sources = readSources()
const described: Described[] = []
const unprepared: string[] = []
let store: TestStore
let directory: string

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'howdah-statements-'))
  copyServer(directory, sources)
  const statements = await Promise.all(sources.map((source) => listStatements(directory, source)))
  store = await startTestStore()
  const url = await store.newDatabase()
  await withDb(url, (db) => migrate(db))
  const client = new pg.Client(url)
  await client.connect()
  for (const statement of statements.flat()) {
    const columns = await listColumns(client, statement.text).catch((error: Error) => error)
    if (columns instanceof Error) unprepared.push(`${statement.template.place} ${columns.message}: ${statement.text}`)
    else described.push({ ...statement, columns })
  }
  await client.end()
})

afterAll(async () => {
  rmSync(directory, { recursive: true })
  await store?.stop()
})

test('every statement can be prepared', () => {
  expect(unprepared).toEqual([])
  expect(described.length).toBeGreaterThan(100)
})

test('the columns of every statement are those of its row', () => {
  stateColumns(directory, sources, described)
  const config = { extends: join(root, 'tsconfig.json'), include: ['server'], exclude: ['**/*.test.ts'] }
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(config))
  const compiler = join(root, 'node_modules/typescript7/bin/tsc')
  // Several threads would each check what they share: less waiting, but half as much work again.
  const { stdout, status } = spawnSync(process.execPath, [compiler, '-p', directory, '--singleThreaded'], {
    cwd: directory,
    encoding: 'utf8',
  })
  expect({ stdout, status }).toEqual({ stdout: '', status: 0 })
})

test('nothing else is run, and only constants are put into a statement as text', () => {
  expect(sources.flatMap(({ wrong }) => wrong)).toEqual([])
  const text = `
    const columns = fragment\`a, b\`
    const chosen = (name) => fragment\`\${name}\`
    db.query('select 1')
    db.query(sql\`select \${columns} from t where a = $1\`)`
  expect(readSource('server/a.ts', text).wrong).toEqual([
    'server/a.ts:3 makes a fragment that is no constant of its module',
    'server/a.ts:4 runs text that is no sql template',
    'server/a.ts:5 numbers a parameter',
  ])
})

/** Parses and describes, as a prepared statement is, without running it. */
function listColumns(client: pg.Client, text: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    let columns: string[] = []
    client.query({
      submit: (connection) => {
        connection.parse({ name: '', text, types: [] }, true)
        connection.describe({ type: 'S', name: '' }, true)
        connection.sync()
      },
      handleRowDescription: ({ fields }: { fields: { name: string }[] }) => {
        columns = fields.map(({ name }) => name)
      },
      handleError: reject,
      handleReadyForQuery: () => resolve(columns),
    })
  })
}
