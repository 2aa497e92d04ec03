// As an ordinary user all databases share one user, so PostgreSQL itself is the only wall between tenants. The operator is told,
// and a start that demands more is refused, not imitated.
import { spawn, spawnSync } from 'node:child_process'
import { chownSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { newServicePorts } from '#test/ports.ts'
import { repository, startHowdah } from '#test/e2e/howdah.ts'
import { as_ordinary_user, unprivileged, readable } from '#test/privileges.ts'
import { as_root } from '#test/provider/service-fixture.ts'
import { newDataDirOfUser, newSeededDataDir } from '#test/seed.ts'
import { startServerProcess } from '#test/server-process.ts'
import { pidIn } from '#test/traces.ts'
import { until } from '#test/until.ts'

/** The command as an ordinary user types it. */
const commandOfUser = (...words: string[]) => [
  ...(as_root ? as_ordinary_user : []),
  as_root ? readable(join(repository, 'bin/howdah')) : join(repository, 'bin/howdah'),
  ...words,
]

function howdahOfUser(...words: string[]) {
  const [program = '', ...args] = commandOfUser(...words)
  return spawnSync(program, args, { encoding: 'utf8', timeout: 120_000 })
}

function newPlace(): string[] {
  const data_dir = newDataDir()
  onTestFinished(() => removeDataDir(data_dir))
  if (as_root) chownSync(data_dir, unprivileged, unprivileged)
  const { first, last } = newServicePorts()
  return ['--data-dir', data_dir, '--service-ports', `${first}-${last}`]
}

const shared = /all databases run as this user, so only PostgreSQL itself keeps a tenant from the other databases/

/** In the order in which they are searched. */
const lacks =
  /the program new[ug]idmap is missing; apt-get install uidmap|\/etc\/sub[ug]id gives nobody no sub ids, and service ports up to \d+ need \d+; as root: usermod --add-sub[ug]ids/

const stranger_user = { uid: 65_533, gid: 65_533 }

const why_no_user = as_root ? '' : ' (skipped: only root can be another user)'

test.skipIf(why_no_user)(
  `an ordinary user without sub ids who isolates databases is told what is missing and how to get it${why_no_user}`,
  () => {
    const [place_flag = '', data_dir = '', ...ports] = newPlace()
    const { status, stdout, stderr } = howdahOfUser('start', '--isolate', '--port', '0', place_flag, data_dir, ...ports)
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(new RegExp(`^howdah: --isolate is refused: (${lacks.source})`))
    expect(readdirSync(data_dir)).toEqual([])
    const { stdout: facts } = howdahOfUser('doctor', place_flag, data_dir)
    expect(facts).toMatch(new RegExp(`→ to use start --isolate: (${lacks.source})`))
  },
)

test('doctor tells an ordinary user in one line that all databases share one user', () => {
  const { stdout } = howdahOfUser('doctor', ...newPlace())
  const line = stdout.split('\n').find((one) => one.includes('a user of its own for each service'))
  expect(line).toMatch(shared)
})

test('the start of an ordinary user says in one line that all databases share one user', async () => {
  const [program = '', ...args] = commandOfUser('start', '--port', '0', ...newPlace())
  const server = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  onTestFinished(() => void server.kill('SIGKILL'))
  let output = ''
  server.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  await until(() => output.includes('Ctrl-C'), { what: 'howdah start is up' })
  expect(output.split('\n').filter((line) => shared.test(line))).toHaveLength(1)
})

test.skipIf(why_no_user)(
  `a process of another user that looks like those of a crashed database keeps no ordinary user from bringing it back${why_no_user}`,
  async () => {
    const data_dir = await newDataDirOfUser()
    onTestFinished(() => removeDataDir(data_dir))
    const server = await startServerProcess({
      data_dir,
      service_ports: newServicePorts(),
      prefix: as_ordinary_user,
    })
    onTestFinished(() => server.end())
    const call = server.callWith(server.first_token ?? '')
    const services = `/projects/${server.project_id}/services`
    const { service_id } = (await call('POST', services, { name: 'shop', cpu_millis: 'shared' })).body
    const at = `${services}/${service_id}`
    const isReady = async () => (await call('GET', at)).body.status === 'READY'
    await until(isReady, { what: 'it is READY' })
    await call('POST', `${at}/setHA`, { replica_count: 1, sync_replica_count: 1 })
    await until(isReady, { what: 'it has a replica' })
    const home = join(data_dir, 'local', 'services', service_id)
    const words = ['-D', join(home, 'data'), '-f', join(home, 'relay.cfg')]
    const stranger = spawn('/bin/sh', ['-c', 'sleep 600; true', '/usr/bin/postgres', ...words], {
      stdio: 'ignore',
      ...stranger_user,
    })
    onTestFinished(() => void stranger.kill('SIGKILL'))
    process.kill(pidIn(readFileSync(join(home, 'data', 'postmaster.pid'), 'utf8')), 'SIGKILL')
    const kinds = async () => {
      const { body } = await call('GET', `${at}/events`)
      return JSON.stringify(body)
    }
    await until(async () => (await kinds()).includes('promoted'), { what: 'its replica takes over' })
    await until(isReady, { what: 'the lost node is back' })
    expect(stranger.exitCode).toBe(null)
  },
)

const why = as_root ? '' : ' (skipped: only root gives each service a user of its own)'

test.skipIf(why)(`root starts with isolated databases, and has nothing to be warned of${why}`, async () => {
  const data_dir = await newSeededDataDir()
  onTestFinished(() => removeDataDir(data_dir))
  const server = await startHowdah(['--isolate', '--data-dir', data_dir])
  onTestFinished(async () => void (await server.end('SIGKILL')))
  expect(server.output()).not.toMatch(/^ {2}Warning/m)
  expect(server.output()).toMatch(/^--isolate changes nothing: as root each database has a user of its own already/)
})
