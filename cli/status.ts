// howdah status: what runs on a data directory. It only reads; nothing is started for it.
import type { ServiceStatus } from '#contract/service-status.ts'
import type { Config } from '#server/config.ts'
import type { Sql } from '#server/store/db.ts'
import { listProjects } from '#server/project/store.ts'
import { listServices } from '#server/service/store.ts'
import { CommandError, exit_codes, json_option } from './command.ts'
import { countDatabases, findPrimaryProcess } from './databases.ts'
import type { OperatorCommand } from './operator-command.ts'
import { listRunning } from './running.ts'
import { enterInstallation, storeIsUp, withStore } from './store.ts'

type Services = Partial<Record<ServiceStatus, number>>

export const status: OperatorCommand = {
  name: 'status',
  summary: 'Say what runs: servers, services by status, databases.',
  options: {
    ...json_option,
    primary: {
      value: 'service',
      description: 'Print the process id of the primary of this service, and nothing else.',
    },
  },
  run: async ({ config, isSet, text }) => {
    await enterInstallation(config)
    const service = text('primary')
    if (service !== undefined) return console.log(await primaryProcessOf(config, service))
    const servers = listRunning(config.data_dir).map(({ pid, url }) => ({ pid, url }))
    const store_is_up = await storeIsUp(config)
    const services = store_is_up ? await withStore(config, countServices) : undefined
    const databases_running = await countDatabases(config.data_dir)
    if (isSet('json')) {
      const facts = { data_dir: config.data_dir, servers, metadata_store: store_is_up, services, databases_running }
      return console.log(JSON.stringify(facts, undefined, 2))
    }
    for (const { pid, url } of servers)
      console.log(`Server     ${url === undefined ? 'starting' : `running at ${url}`} (process ${pid})`)
    if (servers.length === 0) console.log('Server     not running; howdah start runs it')
    console.log(
      `Services   ${services === undefined ? 'unknown: the metadata store does not run' : described(services)}`,
    )
    console.log(`Databases  ${databases_running} running`)
    console.log(`Data       ${config.data_dir}`)
  },
}

async function primaryProcessOf(config: Config, name_or_id: string): Promise<number> {
  const ids = await withStore(config, async (sql) => {
    const lists = await Promise.all((await listProjects(sql)).map(({ id }) => listServices(sql, id)))
    return lists.flat().flatMap(({ service_id, name }) => ([service_id, name].includes(name_or_id) ? [service_id] : []))
  })
  const [service_id, another] = ids
  if (service_id === undefined)
    throw new CommandError(`there is no service ${name_or_id}`, { exit_code: exit_codes.not_found })
  if (another !== undefined)
    throw new CommandError(`several services are named ${name_or_id}; give an id: ${ids.join(', ')}`)
  const pid = await findPrimaryProcess(config.data_dir, service_id)
  if (pid === undefined) throw new CommandError(`no primary of ${name_or_id} runs on this machine`)
  return pid
}

async function countServices(sql: Sql): Promise<Services> {
  const { rowStatus } = await import('#server/service/rules.ts')
  const counts: Services = {}
  const now = new Date()
  for (const project of await listProjects(sql)) {
    for (const row of await listServices(sql, project.id)) {
      const status = rowStatus(row, now)
      counts[status] = (counts[status] ?? 0) + 1
    }
  }
  return counts
}

function described(services: Services): string {
  const parts = Object.entries(services).map(([status, count]) => `${count} ${status}`)
  return parts.length === 0 ? 'none' : parts.join(', ')
}
