// A customer's program inside a VPC, which logs in once: over TLS, verified by the address.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { repository } from '#test/e2e/howdah.ts'
import { readable } from '#test/privileges.ts'

const script = `
  import pg from 'pg'
  const { HOST: host, CA: ca, PASSWORD: password } = process.env
  const client = new pg.Client({ host, port: 5432, user: 'tsdbadmin', database: 'tsdb', password, ssl: { ca } })
  await client.connect()
  console.log((await client.query('select current_user as who')).rows[0].who)
  await client.end()`

/** Who one is after a login. `enter`: the words before a command that lead inside. */
export async function whoInside(
  enter: readonly string[],
  { api_url, host, password }: { api_url: string; host: string; password: string },
): Promise<string> {
  const [program, ...words] = [...enter, readable(process.execPath), '--input-type=module', '--eval', script]
  const ca = await (await fetch(`${api_url}/ca.pem`)).text()
  const env = { PATH: process.env['PATH'], HOST: host, CA: ca, PASSWORD: password }
  return (await promisify(execFile)(program, words, { env, cwd: readable(repository) })).stdout.trim()
}
