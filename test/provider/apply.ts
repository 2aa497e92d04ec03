// Makes true what is wanted, until it holds or until the one who is at it dies right before a chosen effect. A death inside the test's
// own process costs a fraction of a real one: the effect throws, and so does every one after it, so nothing of the world changes any
// more. A real one is SIGKILL to a process of its own (apply-main.ts): of a sample in each run, of all with `npm test -- --all`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { LocalOptions, LocalProvider } from '#providers/local/local.ts'
import type { WantedReplicaSet, WantedService, WantedVpc } from '#providers/provider.ts'
import { compileCacheFor } from '#test/compile-cache.ts'
import { readable } from '#test/privileges.ts'
import { until } from '#test/until.ts'
import type { World } from './service-fixture.ts'

export type Spec = {
  vpcs?: readonly WantedVpc[]
  services?: readonly WantedService[]
  sets?: readonly WantedReplicaSet[]
}

/** Right before the nth effect of this name, counted from 1. */
export type Doom = { effect: string; nth: number }

export type Task = { options: Pick<LocalOptions, 'directory' | 'installation_id' | 'ports'>; spec: Spec; doom?: Doom }

export type Applied = { died: boolean; effects: string[] }

/** `really`: by SIGKILL. */
export async function apply(
  world: World,
  spec: Spec,
  doom?: Doom,
  { really = false }: { really?: boolean } = {},
): Promise<Applied> {
  if (really) return await applyElsewhere(world, spec, doom)
  const effects: string[] = []
  let left = doom?.nth ?? 0
  let dead = false
  const isDead = () => dead
  const unlessDead = (error: unknown) => {
    if (!dead) throw error
  }
  const effect = (name: string) => {
    if (name === doom?.effect && --left === 0) dead = true
    if (dead) throw new Error(`it died at: ${doom?.effect} (${doom?.nth})`)
    effects.push(name)
  }
  const provider = await world.open({ effect }).catch(unlessDead)
  if (provider !== undefined) {
    await applyAll(provider, spec, isDead)
    await provider.close().catch(unlessDead)
  }
  return { died: dead, effects: effects.filter(isOfSpec) }
}

/** In a process of its own. `prefix`: words before the program, such as those that make it run as another user. */
export async function applyElsewhere(
  { directory, installation_id, ports }: World,
  spec: Spec,
  doom?: Doom,
  prefix: readonly string[] = [],
): Promise<Applied> {
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'apply-main.ts')]
  const [program = '', ...args] = [...prefix, ...(prefix.length > 0 ? node.map(readable) : node)]
  const child = spawn(program, args, {
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: compileCacheFor(prefix) },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  const task: Task = { options: { directory, installation_id, ports }, spec, ...(doom && { doom }) }
  // A child that dies before it has read everything reports it by its exit.
  child.stdin.on('error', () => undefined)
  child.stdin.end(JSON.stringify(task))
  const effects = (await text(child.stdout)).split('\n').filter((name) => name !== '' && isOfSpec(name))
  await ended
  const died = child.signalCode === 'SIGKILL'
  if (!died && child.exitCode !== 0) throw new Error(`the one who applies ended with ${child.exitCode}`)
  return { died, effects }
}

/** Until all of it holds, or the one who is at it is dead. In rounds, as a server does: a peer waits for the other's network, a fork for its parent. */
export async function applyAll(
  provider: LocalProvider,
  { vpcs = [], services = [], sets = [] }: Spec,
  isDead: () => boolean = () => false,
): Promise<void> {
  const passes: (() => Promise<{ settled: boolean }>)[] = [
    ...vpcs.map((vpc) => () => provider.vpc.apply(vpc)),
    ...services.map((service) => () => provider.service.apply(service)),
    ...sets.map((set) => () => provider.replica_set.apply(set)),
  ]
  let seen: { settled: boolean }[] = []
  const isOver = async () => {
    seen = []
    for (const pass of passes) if (!isDead()) seen.push(await pass())
    return isDead() || seen.every(({ settled }) => settled)
  }
  await until(isOver, { what: 'everything settles' }).catch((error: unknown) => {
    throw new Error(`not settled: ${JSON.stringify(seen)}`, { cause: error })
  })
}

const isOfSpec = (name: string) => !name.startsWith('provider folder')
