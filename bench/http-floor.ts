// The floor of the http bench, in a process of its own: Fastify, one route, one indexed select through the same driver
// with the same number of connections; no credential, no checks, no log. Prints its address and serves until killed.
import fastify from 'fastify'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 10 })
const app = fastify()

app.route<{ Params: { service_id: string } }>({
  method: 'GET',
  url: '/services/:service_id',
  handler: async (request) => {
    const found = await pool.query('select * from services where service_id = $1', [request.params.service_id])
    return found.rows[0]
  },
})

console.log(await app.listen({ host: '127.0.0.1', port: 0 }))
