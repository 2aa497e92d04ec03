// An ordinary user with sub ids who starts with --isolate: each database is a user of its own, as it is for root. Code that broke out
// of one is kept from the other services, the metadata store and the control plane, and all that a service can do goes on working.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Service } from '#contract/service.ts'
import type { Vpc } from '#contract/vpc.ts'
import { findHostProcess, listHostProcesses, wordsOf } from '#providers/host/process.ts'
import { idsOf } from '#providers/host/privilege.ts'
import { findProgram } from '#providers/host/program.ts'
import { wordsToEnter } from '#providers/local/host/user-namespace.ts'
import { type Call, newCall } from '#test/call.ts'
import { newDataDir } from '#test/data-dir.ts'
import { newServicePorts } from '#test/ports.ts'
import { ask } from '#test/database.ts'
import { howdah, repository, type Started, startHowdah } from '#test/e2e/howdah.ts'
import { whoInside } from '#test/network/who-inside.ts'
import { readable } from '#test/privileges.ts'
import {
  killInside,
  newSubIdUser,
  readInside,
  removePlace,
  type SubIdUser,
  why_no_sub_ids as why,
} from '#test/sub-ids.ts'
import { until } from '#test/until.ts'

const has_pooler = (await findProgram('pgbouncer')) !== undefined
const why_no_networks = (await findProgram('ip')) ? '' : ' (skipped: iproute2 is missing)'

describe.skipIf(why)(`databases that an ordinary user isolates${why}`, () => {
  let user: SubIdUser
  let data_dir = ''
  let place: string[] = []
  let server: Started
  let token = ''
  let project = ''
  let one: Service
  let other: Service

  const call: Call = (...words) => newCall(server.url, token)(...words)
  const at = ({ service_id }: Service) => `${project}/services/${service_id}`
  const command = (...words: string[]) => howdah([...words, ...place], {}, user.prefix)
  const untilReady = (service: Service) =>
    until(async () => (await call('GET', at(service))).body.status === 'READY', { what: 'the service is READY' })
  const newService = async (body: object = {}) => {
    const answer = await call('POST', `${project}/services`, { name: 'x', cpu_millis: 'shared', ...body })
    expect(answer.status).toBe(202)
    await untilReady(answer.body)
    return answer.body
  }
  const remove = async (service: Service) => {
    expect((await call('DELETE', at(service))).status).toBe(202)
    await until(async () => (await call('GET', at(service))).status === 404)
  }
  const select = (service: Service, sql: string, password = service.initial_password ?? '') =>
    ask(server.url, service, password, sql)
  const dataOf = ({ service_id }: Service, node = '') => join(data_dir, 'local/services', service_id, node, 'data')

  beforeAll(async () => {
    user = newSubIdUser()
    data_dir = newDataDir()
    user.give(data_dir)
    const { first, last } = newServicePorts()
    place = ['--data-dir', data_dir, '--service-ports', `${first}-${last}`, '--undelete', '0']
    server = await startHowdah(['--isolate', ...place], {}, user.prefix)
    token = /^ {2}Token +([A-Z2-9]{16}\.\S+) /m.exec(server.output())?.[1] ?? expect.fail('it prints a token')
    project = `/projects/${(await call<{ id: string }[]>('GET', '/projects')).body[0]?.id}`
    ;[one, other] = await Promise.all([newService(), newService()])
  })

  afterAll(async () => {
    await command('stop', '--all')
    await server?.end('SIGKILL')
    await removePlace(data_dir)
    user.remove()
  })

  test('each of them, and the metadata store, is another user of the host', async () => {
    // Of the installation; that the user cannot build the console in a clone of another user is another matter.
    expect(server.output()).not.toMatch(/^ {2}Warning/m)
    const users = [one, other].map((each) => userOf(postmasterOf(dataOf(each))))
    expect(users).toEqual([one, other].map(({ endpoint }) => user.first_sub_uid + endpoint.port))
    expect(userOf(postmasterOf(join(data_dir, 'store/data')))).toBe(user.first_sub_uid)
    expect(userOf(server.pid)).toBe(user.uid)
  })

  test('code that broke out of one service reaches its own files and nothing of the others or the control plane', async () => {
    const [own, neighbour] = [postmasterOf(dataOf(one)), postmasterOf(dataOf(other))]
    const run = (...words: string[]) => runAsServiceUser(one, own, words)
    expect(run('cat', join(dataOf(one), 'global/pg_control')).status).toBe(0)
    const secrets = [
      join(dataOf(other), 'global/pg_control'),
      join(data_dir, 'local/services', other.service_id, 'server.pem'),
      join(data_dir, 'store/data/PG_VERSION'),
      join(data_dir, 'secret.key'),
      join(data_dir, 'installation-id'),
      `/proc/${server.pid}/environ`,
      `/proc/${neighbour}/environ`,
    ]
    const as_root_of_its_own = ['unshare', '--user', '--map-root-user', '--']
    for (const path of secrets) {
      expect([path, run('cat', path).stderr]).toEqual([path, expect.stringMatching(/Permission denied/)])
      expect([path, run(...as_root_of_its_own, 'cat', path).status]).toEqual([path, 1])
    }
    for (const folder of ['store/run', `local/run/${other.service_id}`, 'local/services', 'local/wanted']) {
      expect(run('ls', join(data_dir, folder)).stderr).toMatch(/Permission denied/)
      expect(run('touch', join(data_dir, folder, 'planted')).stderr).toMatch(/Permission denied/)
    }
    for (const pid of [server.pid, neighbour]) {
      expect(run('kill', '-KILL', `${pid}`).stderr).toMatch(/not permitted/)
      expect(run('nsenter', `--mount=/proc/${pid}/ns/mnt`, 'true').stderr).toMatch(/Permission denied|not permitted/)
    }
    expect(await select(other, 'select 1')).toEqual(['1'])
  })

  test('a process of a service that leaves the namespace is not followed to where the tenant is root', async () => {
    const [own, id] = [postmasterOf(dataOf(one)), 70_000 + one.endpoint.port]
    const { ino: inode } = statSync(`/proc/${own}/ns/user`)
    const user_words = [`--user=/proc/${own}/ns/user`, '--setuid', `${id}`, '--setgid', `${id}`, '--']
    const trap = spawn('nsenter', [...user_words, 'unshare', '--user', '--map-root-user', 'sleep', '60'], { cwd: '/' })
    onTestFinished(() => void killInside(trap.pid ?? 0))
    const pid = await until(() => wordsOf({ pid: trap.pid ?? 0 })[0] === 'sleep' && trap.pid)
    const enter = (by: number) =>
      spawnSync('sh', wordsToEnter({ pid: by, inode }, ['id', '-u']), { encoding: 'utf8', cwd: '/' })
    expect(enter(own)).toMatchObject({ status: 0, stdout: '0\n' })
    expect(enter(pid)).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('has just ended') })
  })

  test('a password, a pooler, a fork, a stop and a start, and a deletion with all its files', async () => {
    expect((await call('POST', `${at(one)}/updatePassword`, { password: 'another password' })).status).toBe(204)
    const password = 'another password'
    expect(await select(one, 'create table kept (word text)', password)).toEqual([])
    expect(await select(one, `insert into kept values ('kept') returning word`, password)).toEqual(['kept'])
    if (has_pooler) {
      expect((await call('POST', `${at(one)}/enablePooler`)).status).toBe(200)
      const endpoint = (await call<Service>('GET', at(one))).body.connection_pooler?.endpoint
      expect(await ask(server.url, { endpoint: endpoint ?? one.endpoint }, password, 'select word from kept')).toEqual([
        'kept',
      ])
    }
    const { body: fork } = await call('POST', `${at(one)}/forkService`, { name: 'fork', fork_strategy: 'NOW' })
    await untilReady(fork)
    expect(await select(fork, 'select word from kept')).toEqual(['kept'])
    expect(userOf(postmasterOf(dataOf(fork)))).toBe(user.first_sub_uid + fork.endpoint.port)

    expect((await call('POST', `${at(fork)}/stop`)).status).toBe(202)
    await until(async () => (await call('GET', at(fork))).body.status === 'PAUSED')
    expect((await call('POST', `${at(fork)}/start`)).status).toBe(202)
    await untilReady(fork)
    expect(await select(fork, 'select word from kept')).toEqual(['kept'])

    await remove(fork)
    const services = join(data_dir, 'local/services')
    await until(() => !readdirSync(services).some((each) => each.startsWith(fork.service_id)), { what: 'its files go' })
    expect(
      (await listHostProcesses()).filter(({ uids }) => uids.includes(user.first_sub_uid + fork.endpoint.port)),
    ).toEqual([])
  })

  test('a primary that is killed is replaced by its replica', async () => {
    const service = await newService({ replica_count: 1 })
    await select(service, 'create table kept (word text)')
    await until(() => userOf(postmasterOf(dataOf(service, 'node-1'))) === user.first_sub_uid + service.endpoint.port)
    await untilReady(service)
    killInside(postmasterOf(dataOf(service)))
    await until(async () => (await select(service, 'select pg_is_in_recovery()')).join() === 'false')
    expect(await select(service, `insert into kept values ('after') returning word`)).toEqual(['after'])
    const kinds = async () =>
      (await call<{ kind: string }[]>('GET', `${at(service)}/events`)).body.map(({ kind }) => kind)
    await until(async () => (await kinds()).includes('promoted'), { what: 'the failover is told', timeout_ms: 30_000 })
    await remove(service)
  })

  test('after a kill -9 of the server its databases go on, and the next one, without the word, has them in hand', async () => {
    const before = postmasterOf(dataOf(other))
    await server.end('SIGKILL')
    const { stdout } = await command('status', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ servers: [], metadata_store: true, databases_running: 2 })
    server = await startHowdah(place, {}, user.prefix)
    await untilReady(other)
    expect(postmasterOf(dataOf(other))).toBe(before)
    expect(idsOf(server.pid, 'uid')).toBe(idsOf(before, 'uid'))
    // It can end what another server has started.
    expect((await call('POST', `${at(other)}/stop`)).status).toBe(202)
    await until(async () => (await call('GET', at(other))).body.status === 'PAUSED')
    expect(findHostProcess(before)).toBeUndefined()
    expect((await call('POST', `${at(other)}/start`)).status).toBe(202)
    await untilReady(other)
    expect(await select(other, 'select 1')).toEqual(['1'])
  })

  test.skipIf(why_no_networks)(`a service is in a VPC, still as its own user${why_no_networks}`, async () => {
    const vpc = await call<Vpc>('POST', `${project}/vpcs`, { cidr: '10.93.0.0/24', name: 'x', region_code: 'local' })
    expect((await call('POST', `${at(other)}/attachToVPC`, { vpc_id: vpc.body.id })).status).toBe(202)
    await untilReady(other)
    const command = readable(join(repository, 'bin/howdah'))
    const enter = [...user.prefix, command, 'admin', 'vpc', 'exec', vpc.body.id, ...place, '--']
    const login = { api_url: server.url, host: '10.93.0.2', password: other.initial_password ?? '' }
    expect(await whoInside(enter, login)).toBe('tsdbadmin')
    expect(userOf(postmasterOf(dataOf(other)))).toBe(user.first_sub_uid + other.endpoint.port)
    const [program, ...words] = [...enter, 'id', '-u']
    expect(execFileSync(program, words, { encoding: 'utf8', cwd: '/' }).trim()).toBe(`${user.uid}`)
    expect((await call('POST', `${at(other)}/detachFromVPC`)).status).toBe(202)
    await untilReady(other)
    expect(await select(other, 'select 1')).toEqual(['1'])
  })

  test('commands work on it, and stop --all leaves no process of it', async () => {
    const map = idsOf(server.pid, 'uid')
    expect((await command('admin', 'token', 'list')).code).toBe(0)
    const doctor = (await command('doctor')).stdout
    expect(doctor).toMatch(/^yes {2}a user of its own for each service/m)
    expect(await command('stop', '--all')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Stopped 2 databases'),
    })
    // The process for which the namespace was made waits for a minute.
    expect((await listInside(map)).map((each) => wordsOf(each)[0]).filter((program) => program !== 'sleep')).toEqual([])
    // With no process left there is no namespace either: the next one is another with the same users.
    server = await startHowdah(place, {}, user.prefix)
    await untilReady(other)
    expect(await select(other, 'select 1')).toEqual(['1'])
  })
})

/** As its pid file names it: a backend that was forked a moment ago still has its postmaster's command line. */
const postmasterOf = (data: string) => Number(readInside(join(data, 'postmaster.pid')).split('\n')[0])

const listInside = async (map: string) => (await listHostProcesses()).filter(({ pid }) => idsOf(pid, 'uid') === map)

/** The user that the host knows a process by. */
const userOf = (pid: number) => findHostProcess(pid)?.uids[0]

/** As code in the service runs: with its user, in its namespace. */
function runAsServiceUser({ endpoint }: Service, postmaster: number, words: readonly string[]) {
  const id = `${70_000 + endpoint.port}`
  const enter = [`--user=/proc/${postmaster}/ns/user`, '--setuid', id, '--setgid', id, '--']
  return spawnSync('nsenter', [...enter, ...words], { encoding: 'utf8', cwd: '/', timeout: 30_000 })
}
