// howdah admin vpc list | exec. A program that exec runs is inside the VPC's network: it reaches the services there and those of
// active peers, and nothing else, not even the host's loopback.
import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { findProgram } from '#providers/host/program.ts'
import { ownerOf, type UserMap } from '#providers/host/user-map.ts'
import { namespaceAt } from '#providers/local/network/namespace.ts'
import { findIsolation, openInstallation } from '#server/installation.ts'
import { listProjects } from '#server/project/store.ts'
import { listVpcs } from '#server/vpc/store.ts'
import { CommandError, json_option, required, UsageError } from '../command.ts'
import { runInForeground } from '../foreground.ts'
import type { OperatorCommand } from '../operator-command.ts'
import { enterInstallation, withStore } from '../store.ts'
import { printRows } from '../table.ts'

export const vpcList: OperatorCommand = {
  name: 'admin vpc list',
  summary: 'List the VPCs of all projects.',
  options: json_option,
  run: async ({ config, isSet }) => {
    const rows = await withStore(config, async (db) => {
      const lists = (await listProjects(db)).map((project) => listVpcs(db, project.id))
      return (await Promise.all(lists)).flat()
    })
    const shown = rows.map(({ id, project_id, name, cidr, region_code }) => ({
      id: String(id),
      project_id,
      name,
      cidr,
      region_code,
    }))
    printRows(shown, ['id', 'project_id', 'name', 'cidr', 'region_code'], isSet('json'))
  },
}

export const vpcExec: OperatorCommand = {
  name: 'admin vpc exec',
  summary: 'Run a program inside a VPC, such as psql.',
  positionals: required('vpc_id'),
  rest: { name: 'command …' },
  details:
    'The program has the network of the VPC and everything else as usual; its exit code is passed on. Only for the\n' +
    'user who runs the server.\n' +
    'Example: howdah admin vpc exec 1000 -- psql "host=10.64.0.2 user=tsdbadmin dbname=tsdb sslmode=require"',
  run: async ({ config, need, rest }) => {
    const { number_form } = await import('#server/http/path-id.ts')
    const vpc_id = need('vpc_id')
    if (!number_form.test(vpc_id)) throw new UsageError(`a VPC’s id is a number, and ${JSON.stringify(vpc_id)} is none`)
    await enterInstallation(config)
    const owner = statSync(config.data_dir).uid
    if (process.getuid?.() !== owner) {
      throw new CommandError(
        `only who runs the server can enter the network of a VPC; repeat this with sudo --user=#${owner}`,
      )
    }
    const { installation_id, local_directory } = await openInstallation(config.data_dir)
    const { path, enter } = namespaceAt({ installation_id, directory: resolve(local_directory) }, vpc_id)
    if (!existsSync(path)) {
      throw new CommandError(
        `VPC ${vpc_id} has no network on this machine; howdah admin vpc list shows which there are, and a running server makes theirs`,
      )
    }
    return runInside([...enter, ...asOwner(await findIsolation(config.data_dir)), ...rest])
  },
}

/** Inside an isolated installation its owner is root; the program has the user that it has everywhere else. */
function asOwner(isolation: UserMap | undefined): string[] {
  if (isolation === undefined) return []
  const { uid, gid } = ownerOf(isolation)
  return ['unshare', '--user', `--map-user=${uid}`, `--map-group=${gid}`, '--']
}

async function runInside([program = '', ...args]: readonly string[]): Promise<number> {
  const missing = 'the program nsenter cannot be run; install util-linux'
  return await runInForeground([(await findProgram(program)) ?? program, ...args], { env: process.env, missing })
}
