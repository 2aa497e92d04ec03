// The program behind test/server-process.ts: the server with its settings as flags. On standard output, one JSON object
// a line: every effect of the provider, and the facts once it serves. KILL_AT_EFFECT: the number or name of the effect
// right before which it dies. On standard input, the same for a server that runs: a name and its how-manieth from now.
import { writeSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { createInterface } from 'node:readline'
import { loadConfig } from '#server/config.ts'
import { startServer } from '#server/main.ts'

const kill_at_effect = process.env['KILL_AT_EFFECT']
let effects = 0
let doom: { effect: string; nth: number } | undefined

const server = await startServer(loadConfig(process.argv.slice(2), process.env), {
  effect: (name) => {
    effects += 1
    if (kill_at_effect === String(effects) || kill_at_effect === name) process.kill(process.pid, 'SIGKILL')
    if (doom?.effect === name && --doom.nth === 0) process.kill(process.pid, 'SIGKILL')
    say({ effect: name })
  },
})
const { url, api_url, first_token, project_id } = server
say({ facts: { pid: process.pid, url, api_url, first_token, project_id } })
// Compiled code is kept when a process ends by itself, which these seldom do: the next one need not compile again.
flushCompileCache()

createInterface({ input: process.stdin }).on('line', (line) => {
  doom = JSON.parse(line)
  say({ armed: true })
})

process.once('SIGTERM', () => {
  void server.close().then(() => process.exit(0))
})

// Synchronously: a line printed before a kill is not lost.
function say(message: object): void {
  writeSync(1, `${JSON.stringify(message)}\n`)
}
