// Faults of a real cluster: the primary is killed under writes, the API server is silent, the operator dies. For the rig only, whose
// processes this machine runs.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type pg from 'pg'
import type { WantedService } from '#providers/provider.ts'
import { verifierOf } from '#test/provider/wanted.ts'
import { until } from '#test/until.ts'
import { loginAt, needsRig, openRig, type Rig } from './rig-region.ts'
import { newWanted, password, settle } from './wanted.ts'

beforeEach(needsRig)

const rounds = Number(process.env['RIG_ROUNDS'] ?? 3)
const silent_ms = Number(process.env['RIG_SILENT_SECONDS'] ?? 60) * 1000

async function openWith(parts: Partial<WantedService>) {
  const rig = await openRig()
  onTestFinished(rig.close)
  const provider = await rig.open()
  await until(() => provider.facts().postgres_versions.length > 0, { what: 'the facts are read' })
  const wanted = await newWanted(provider, parts)
  await settle(provider, wanted)
  return { rig, provider, wanted }
}

test.each(['killed', 'deleted'])(
  `0 acknowledged rows are lost when the primary is %s under writes, ${rounds} times`,
  async (how) => {
    const { rig, provider, wanted } = await openWith({
      ha: { replica_count: 1, sync_replica_count: 1, switchovers: 0 },
    })
    const login = () => loginAt({ at: wanted.reach, password, ca_pem: rig.ca_pem })
    const first = await login()
    await first.query('create table written (n int primary key)')
    await first.end()
    const writer = newWriter(login)
    for (let round = 1; round <= rounds; round += 1) {
      await until(() => writer.wroteSince(500), { what: 'rows are written' })
      const { namespace, primary: name } = await primaryOf(rig, wanted)
      const uidNow = async () => (await rig.client.find({ kind: 'Pod', namespace, name }))?.metadata.uid
      const uid = await uidNow()
      if (how === 'killed') killPod(uid ?? '')
      else await rig.client.remove({ kind: 'Pod', namespace, name })
      // A Pod that is deleted serves until it has stopped.
      if (how === 'deleted') await until(async () => (await uidNow()) !== uid, { what: 'the Pod is gone' })
      await settle(provider, wanted)
      await until(() => writer.wroteSince(500), { what: 'rows are written again' })
      process.stdout.write(`round ${round}: longest gap between two writes ${(writer.takeGap() / 1000).toFixed(1)} s\n`)
    }
    const acknowledged = await writer.stop()
    const last = await login()
    const { rows } = await last.query<{ n: number }>('select n from written')
    await last.end()
    const there = new Set(rows.map(({ n }) => n))
    expect(acknowledged.filter((n) => !there.has(n))).toEqual([])
    process.stdout.write(`${acknowledged.length} rows acknowledged, none lost\n`)
  },
)

/** Inserts one row after the other, over a new connection when the last one broke. */
function newWriter(login: () => Promise<pg.Client>) {
  const acknowledged: number[] = []
  const stopping = new AbortController()
  let [last_ms, gap_ms, next] = [0, 0, 0]
  const write = async () => {
    let client: pg.Client | undefined
    while (!stopping.signal.aborted) {
      try {
        client ??= await login()
        next += 1
        const n = next
        await Promise.race([client.query('insert into written values ($1)', [n]), tooLong()])
        acknowledged.push(n)
        const now_ms = performance.now()
        if (last_ms > 0) gap_ms = Math.max(gap_ms, now_ms - last_ms)
        last_ms = now_ms
      } catch {
        void client?.end().catch(() => undefined)
        client = undefined
        await pause(100)
      }
    }
    await client?.end()
  }
  const writing = write()
  return {
    wroteSince: (ms: number) => last_ms > 0 && performance.now() - last_ms < ms,
    takeGap: () => {
      const longest = gap_ms
      gap_ms = 0
      return longest
    },
    stop: async () => {
      stopping.abort()
      await writing
      return acknowledged
    },
  }
}

const tooLong = () => pause(10_000).then(() => Promise.reject(new Error('no answer')))

async function primaryOf(rig: Rig, wanted: WantedService): Promise<{ namespace: string; primary: string }> {
  const namespace = rig.namespaceOf(wanted)
  const cluster = await rig.client.find({ kind: 'Cluster', namespace, name: `s-${wanted.service_id}` })
  // The form of the kind.
  const { status } = cluster as unknown as { status: { currentPrimary: string } }
  return { namespace, primary: status.currentPrimary }
}

/** Every process of the Pod at once, as when its node dies; the kubelet starts it again. */
function killPod(uid: string): void {
  expect(uid).not.toBe('')
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const is_of = readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(`pod${uid}`)
      if (is_of && !readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('/pause'))
        process.kill(Number(pid), 'SIGKILL')
    } catch {
      // It ended meanwhile.
    }
  }
}

test('while the API server is silent the service serves, nothing is declared dead, and afterwards what was wanted holds', async () => {
  const { rig, provider, wanted } = await openWith({})
  const [pid = ''] = execFileSync('pgrep', ['-f', 'kube-[0-9.]* apiserver']).toString().trim().split('\n')
  process.kill(Number(pid), 'SIGSTOP')
  onTestFinished(() => void process.kill(Number(pid), 'SIGCONT'))
  const changed = { ...wanted, generation: 2, password_verifier: verifierOf('second password') }
  const begun = performance.now()
  const waits = new Set<string>()
  while (performance.now() - begun < silent_ms) {
    const observed = await provider.service.apply(changed)
    expect(observed).toMatchObject({ state: 'unknown', settled: false })
    waits.add((observed.waiting_for ?? '').replace(/\(.*\)/, '(…)'))
    expect(await provider.service.list()).toEqual([{ id: wanted.service_id, down: false }])
    // Nothing of it is to be changed: a login says how it is.
    expect(await provider.service.apply(wanted)).toMatchObject({ state: 'serving', settled: true })
    await pause(2_000)
  }
  expect([...waits]).toEqual(['region rig does not answer (…); the databases go on running'])
  process.kill(Number(pid), 'SIGCONT')
  await settle(provider, changed)
  const login = await loginAt({ at: wanted.reach, password: 'second password', ca_pem: rig.ca_pem })
  await login.end()
})

test('an operator that dies in the middle of a change is waited for', async () => {
  const { rig, provider, wanted } = await openWith({})
  const changed: WantedService = { ...wanted, generation: 2, size: { cpu_millis: 500, memory_gbs: 2 } }
  await provider.service.apply(changed)
  const { items } = await rig.client.list({ kind: 'Pod', label_selector: 'app.kubernetes.io/name=cloudnative-pg' })
  expect(items.length).toBeGreaterThan(0)
  for (const { metadata } of items) killPod(metadata.uid ?? '')
  expect(await settle(provider, changed)).toMatchObject({ state: 'serving' })
})

test.each(['Cluster', 'Namespace'] as const)('a %s that is deleted by hand is told as a loss', async (kind) => {
  const { rig, provider, wanted } = await openWith({})
  const namespace = rig.namespaceOf(wanted)
  const made = { ...wanted, made: true }
  await rig.client.remove(
    kind === 'Cluster' ? { kind, namespace, name: `s-${wanted.service_id}` } : { kind, name: namespace },
  )
  const lost = {
    state: 'absent',
    settled: false,
    waiting_for: expect.stringMatching(/^its Cluster was deleted in region rig/),
  }
  await until(async () => (await provider.service.apply(made)).state === 'absent', { what: 'the loss is told' })
  await pause(5_000)
  expect(await provider.service.apply(made)).toMatchObject(lost)
  expect((await settle(provider, { ...made, deleted: true })).state).toBe('absent')
})

test('two servers on one cell, and an API server that is killed, come to the same end', async () => {
  const { rig, provider, wanted } = await openWith({})
  const other = await rig.open()
  const changed = { ...wanted, generation: 2, password_verifier: verifierOf('second password') }
  await Promise.all([settle(provider, changed), settle(other, changed)])
  const [pid = ''] = execFileSync('pgrep', ['-f', 'kube-[0-9.]* apiserver']).toString().trim().split('\n')
  process.kill(Number(pid), 'SIGKILL')
  const back = { ...wanted, generation: 3, size: { cpu_millis: 500, memory_gbs: 2 } }
  await Promise.all([settle(provider, back), settle(other, back)])
  const login = await loginAt({ at: wanted.reach, password, ca_pem: rig.ca_pem })
  await login.end()
})
