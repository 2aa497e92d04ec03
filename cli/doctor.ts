// howdah doctor: what this machine and the other regions support, what is missing and how to get it. Works before the first start; what is
// missing is a fact and no failure, because Howdah runs without it.
import { join } from 'node:path'
import { hostFacts } from '#providers/local/host-facts.ts'
import { findIsolation } from '#server/installation.ts'
import { backupFacts } from './backup-facts.ts'
import { json_option } from './command.ts'
import type { OperatorCommand } from './operator-command.ts'

export const doctor: OperatorCommand = {
  name: 'doctor',
  summary: 'Say what this machine supports, what is missing, and how to get it.',
  options: json_option,
  run: async ({ config, isSet }) => {
    const facts = await hostFacts({
      directory: join(config.data_dir, 'local'),
      postgres_directories: config.postgres_directories,
      isolated: (await findIsolation(config.data_dir)) !== undefined,
      last_service_port: config.service_ports.last,
    })
    // Of another user's data directory nothing can be said.
    facts.push(...(await backupFacts(config).catch(() => [])))
    const { regionFacts } = await import('./region-facts.ts')
    facts.push(...(await regionFacts(config)))
    if (isSet('json')) return console.log(JSON.stringify(facts, undefined, 2))
    const width = Math.max(...facts.map((fact) => fact.name.length))
    for (const fact of facts) {
      console.log(`${fact.supported ? 'yes' : 'no '}  ${fact.name.padEnd(width)}  ${fact.finding}`)
      if (fact.remedy !== undefined) console.log(`     ${' '.repeat(width)}  → ${fact.remedy}`)
    }
  },
}
