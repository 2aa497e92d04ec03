// A database for the tests of a program: one for each file of tests, made before them and deleted after them, for node:test, vitest and jest.
//   import test from 'node:test'
//   const db = withDatabase(test, { from: 'k3v9x2m7qp' })
import { type Connection, connectionLine, connectionOf } from './connection.ts'
import { type HowdahOptions, newHowdah, type Temporary, type TemporaryGiven } from './howdah.ts'

/** What registers what is done before all tests of a file, and after them: `test` of node:test, or all of vitest or of @jest/globals. */
export type TestHooks =
  | { before(work: () => Promise<void>): void; after(work: () => Promise<void>): void }
  | {
      beforeAll(work: () => Promise<void>, timeout_ms: number): void
      afterAll(work: () => Promise<void>, timeout_ms: number): void
    }

/** There once the tests run. */
export type TestDatabase = {
  readonly service: Temporary
  /** With the password; the certificate is not checked. */
  readonly url: string
  /** As node-postgres takes it, with the certificate that is checked. */
  readonly pg_config: Connection & { password: string; ssl: { ca: string } }
}

/** Making a fork of a large database takes time where its file system cannot share blocks. */
const timeout_ms = 10 * 60_000

export function withDatabase(hooks: TestHooks, given: TemporaryGiven & HowdahOptions = {}): TestDatabase {
  let database: TestDatabase | undefined
  const begin = async () => {
    database = await openDatabase(given)
  }
  const end = async () => {
    await database?.service[Symbol.asyncDispose]()
  }
  if ('beforeAll' in hooks) {
    hooks.beforeAll(begin, timeout_ms)
    hooks.afterAll(end, timeout_ms)
  } else {
    hooks.before(begin)
    hooks.after(end)
  }
  const opened = () => {
    if (database === undefined)
      throw new Error('the database is there once the tests run, and not while they are defined')
    return database
  }
  return {
    get service() {
      return opened().service
    },
    get url() {
      return opened().url
    },
    get pg_config() {
      return opened().pg_config
    },
  }
}

async function openDatabase(given: TemporaryGiven & HowdahOptions): Promise<TestDatabase> {
  const { server, token, project, retries, fetch, ...temporary } = given
  const howdah = newHowdah({
    ...(server !== undefined && { server }),
    ...(token !== undefined && { token }),
    ...(project !== undefined && { project }),
    ...(retries !== undefined && { retries }),
    ...(fetch !== undefined && { fetch }),
  })
  const [service, ca] = await Promise.all([howdah.services.temporary(temporary), howdah.ca.get()])
  const connection = connectionOf(service)
  if (connection === undefined) throw new Error('a service without an endpoint')
  const password = service.initial_password
  return {
    service,
    url: connectionLine(connection, 'uri', { password }),
    pg_config: { ...connection, password, ssl: { ca } },
  }
}
