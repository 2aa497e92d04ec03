// howdah stop: ends the servers of a data directory, and with --all everything that runs there.
// A process is signalled only while it is the recorded one. To stop what does not run is no error.
import { setTimeout as pause } from 'node:timers/promises'
import { messageOf } from '#providers/host/message.ts'
import { shutdown_grace_seconds } from '#server/config.ts'
import { CommandError } from './command.ts'
import { countDatabases } from './databases.ts'
import type { OperatorCommand } from './operator-command.ts'
import { isRunning, listRunning, type RunningServer } from './running.ts'
import { enterInstallation } from './store.ts'

const poll_ms = 50
/** Beyond the grace that the server gives each of its parts. */
const patience_factor = 4

export const stop: OperatorCommand = {
  name: 'stop',
  summary: 'Stop the server; with --all the databases too.',
  options: { all: { description: 'Stop every database and the embedded metadata store as well.' } },
  details: 'The databases go on running without a server, unless --all is given. The next start starts them again.',
  run: async ({ config, isSet }) => {
    await enterInstallation(config)
    const servers = listRunning(config.data_dir)
    await Promise.all(servers.map((server) => end(server)))
    console.log(servers.length === 0 ? 'No server was running.' : `Stopped ${counted(servers.length, 'server')}.`)
    const databases = await countDatabases(config.data_dir)
    if (!isSet('all')) {
      if (databases > 0) console.log(`${counted(databases, 'database')} still running; howdah stop --all stops them.`)
      return
    }
    // Loaded only here, so that the other commands answer at once.
    const { stopEverything } = await import('#server/main.ts')
    const { newLog } = await import('#server/log.ts')
    await stopEverything(config, newLog('silent'))
    const store = config.database_url === undefined ? ' and the embedded metadata store' : ''
    console.log(`Stopped ${counted(databases, 'database')}${store}.`)
  },
}

async function end(server: RunningServer): Promise<void> {
  const patience_seconds = shutdown_grace_seconds * patience_factor
  const deadline = performance.now() + patience_seconds * 1000
  if (!isRunning(server)) return
  try {
    process.kill(server.pid, 'SIGTERM')
  } catch (error) {
    if (!isRunning(server)) return
    throw new CommandError(`process ${server.pid} cannot be stopped: ${messageOf(error)}`)
  }
  while (isRunning(server)) {
    if (performance.now() > deadline) {
      throw new CommandError(
        `process ${server.pid} has not ended in ${patience_seconds} s; kill -9 ${server.pid} is safe`,
      )
    }
    await pause(poll_ms)
  }
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
