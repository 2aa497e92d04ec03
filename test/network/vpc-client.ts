// A customer's program inside a VPC: logs in at the address given as its argument, then runs each line of its standard
// input and prints the first value of the answer. Ends when the connection breaks, and says how.
import { createInterface } from 'node:readline'
import pg from 'pg'

const patience_ms = 30_000
const client = new pg.Client({
  host: process.argv[2],
  port: 5432,
  user: 'tsdbadmin',
  password: 'first password',
  database: 'tsdb',
  ssl: { ca: process.env['AUTHORITY'] },
  connectionTimeoutMillis: patience_ms,
})
client.on('error', (error) => {
  console.log(`broken: ${error.message}`)
  process.exit(0)
})
try {
  await client.connect()
} catch (error) {
  console.log(error instanceof Error ? error.message : String(error))
  process.exit(0)
}
console.log('connected')
for await (const sql of createInterface({ input: process.stdin })) {
  const { rows } = await client.query<unknown[]>({ text: sql, rowMode: 'array' })
  console.log(String(rows[0]?.[0]))
}
