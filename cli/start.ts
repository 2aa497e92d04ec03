// howdah start: the server in the foreground. People read stdout; the log goes to server.log in the data directory.
// 1. The first token is printed once and kept as the login of the user who ran it (first-login.ts). 2. SIGINT, SIGTERM and SIGHUP end it gracefully; a second one
//    at once, which is safe: the next start goes on where this one was. 3. Databases go on running.
import { basename } from 'node:path'
import { isDiskFull } from '#providers/host/read.ts'
import { releaseForStart, start_mb_min } from '#providers/local/host/reserve.ts'
import { openInstallation } from '#server/installation.ts'
import type { RegionFacts } from '#providers/provider.ts'
import type { Server } from '#server/main.ts'
import { version } from '#contract/version.ts'
import { ensureRestoredFrom } from './admin/restore.ts'
import { CommandError } from './command.ts'
import { type FirstLogin, leaveLogin, nextStep } from './first-login.ts'
import { enterIsolation } from './isolation.ts'
import { openLogFile } from './log-file.ts'
import type { OperatorCommand } from './operator-command.ts'
import { recordServer } from './running.ts'
import { storeStopper, tellWait } from './store.ts'

export const start: OperatorCommand = {
  name: 'start',
  summary: 'Run the server in the foreground.',
  details: `The very first start leaves a login for you, and prints a personal access token, once. Ctrl-C stops the server; databases go on running.
Several servers may share one data directory, each on a port of its own.`,
  options: {
    isolate: { description: 'Start only where each database gets a user of its own; see docs/security.md.' },
    'restore-from': {
      value: 'target',
      description: 'On the first start, bring the installation back from this repository; see docs/backups.md.',
    },
  },
  run: async ({ config, isSet, text }) => {
    const restore_from = text('restore-from')
    if (restore_from !== undefined) await ensureRestoredFrom(config, restore_from)
    await enterIsolation(config, isSet('isolate') || config.isolate)
    // Loaded only here, so that the other commands answer at once.
    const { startServer } = await import('#server/main.ts')
    const { newLog } = await import('#server/log.ts')
    const { data_dir, local_directory } = await openInstallation(config.data_dir)
    releaseForStart(local_directory)
    const log_file = openLogFile(config.data_dir)
    const log = newLog(config.log_level, log_file)
    // Only notes it: the process ends as it would, and its supervisor starts it again.
    process.once('uncaughtExceptionMonitor', (error) => log.fatal({ err: error }, 'server crashed'))
    // Before the store is looked at: a command that had to start it would stop it under this start.
    const removeRecord = recorded(data_dir)
    const stopStore = await storeStopper(config)
    const server = await startServer(config, { log, onWait: tellWait }).catch(async (error: unknown) => {
      removeRecord()
      await stopStore()
      throw error
    })
    // A reader of the greeting may end the server at once.
    const signal = signalToEnd()
    const { api_url, first_token: token, project_id } = server
    const login = token && project_id ? await leaveLogin({ api_url, token, project_id }) : undefined
    // Before anything that can fail, because the token may be nowhere else.
    console.log(greeting(server, log_file.path, login))
    void tellConsole(server)
    recordServer(config.data_dir, server.api_url)
    console.log(`\n${await signal}: stopping. Databases go on running.`)
    try {
      await server.close()
    } finally {
      removeRecord()
    }
  },
}

function recorded(data_dir: string): () => void {
  try {
    return recordServer(data_dir)
  } catch (error) {
    if (!isDiskFull(error)) throw error
    throw new CommandError(`no space left on the disk of ${data_dir}; free ${start_mb_min} MB of it, and start again`)
  }
}

/** The console is built when all else works already. */
async function tellConsole(server: Server): Promise<void> {
  const problem = await server.buildConsole()
  console.log(
    problem === undefined
      ? `The console is ready: ${server.public_url}/`
      : 'Warning: the console was not built, the log says why; the API works without it.',
  )
}

/** Resolves at the first signal; at the second the process ends at once. */
function signalToEnd(): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>()
  let heard = false
  const onSignal = (signal: NodeJS.Signals) => {
    if (heard) process.exit(1)
    heard = true
    resolve(signal)
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal).on('SIGHUP', onSignal)
  return promise
}

function regionWords(region_code: string, { postgres_versions, limits }: RegionFacts, is_only: boolean): string {
  const of_region = is_only ? '' : `Region ${region_code}: `
  const limits_words = limits.offered ? 'CPU and memory limits are enforced.' : limits.reason
  return `${of_region}PostgreSQL ${postgres_versions.join(' and ')}. ${limits_words}`
}

/** Of a first start: what is shown once, and the command to type next. Later ones are quiet. */
function greeting(server: Server, log_path: string, login: FirstLogin | undefined): string {
  const { first_token, password_link } = server
  const regions = [...server.regions].map(([code, provider]) =>
    regionWords(code, provider.facts(), server.regions.size === 1),
  )
  const lines = [
    `Howdah ${version} is running.`,
    `  API        ${server.api_url}  (documentation: ${server.docs_url})`,
    `  Data       ${server.data_dir}  (log: ${basename(log_path)})`,
  ]
  if (first_token !== undefined) lines.push(`  Databases  ${regions.join(' ')}`)
  lines.push(...server.warnings.map((warning) => `  Warning    ${warning}`))
  if (password_link !== undefined) {
    const link = `${server.public_url}${password_link}`
    lines.push(`  Password   ${link}  (for ${server.first_email} in the console; once, within a day)`)
  }
  if (first_token !== undefined)
    lines.push(`  Token      ${first_token}  (for programs and other machines; shown this once)`)
  if (login !== undefined) lines.push(`  Next       ${nextStep(login)}`)
  return [...lines, 'Ctrl-C stops the server; databases go on running.'].join('\n')
}
