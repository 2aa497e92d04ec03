// What the tests of replaced primaries share: a service with replicas and a table, and what is told until all is as it should be.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { LocalOptions, LocalProvider } from '#providers/local/local.ts'
import type { Primary } from '#providers/local/postgres/primary.ts'
import type { ObservedService, WantedService } from '#providers/provider.ts'
import { ask, newWanted, settle, useWorlds, type World } from '#test/provider/service-fixture.ts'
import { haveRead, homeOf, withReplicas } from '#test/provider/standby-fixture.ts'
import { until } from '#test/until.ts'

export type Ha = { world: World; provider: LocalProvider; wanted: WantedService }

const { newWorld } = useWorlds()

/** `below`: the folder in which its world is. */
export async function newHa(
  replicas: number,
  sync: number,
  options: Partial<LocalOptions> = {},
  below?: string,
): Promise<Ha> {
  const world = await newWorld(below)
  const provider = await world.open(options)
  const wanted = withReplicas(await newWanted(provider, { size: 'shared' }), 1, replicas, sync)
  await settle(provider, wanted)
  await ask(provider, wanted, 'create table kept (word text)')
  await haveRead(world, wanted)
  return { world, provider, wanted }
}

/** Empty where the primary was never another. */
export const primaryOf = async ({ world, wanted }: Ha) =>
  JSON.parse(await readFile(join(homeOf(world, wanted), 'primary.json'), 'utf8').catch(() => '{}')) as Primary // written by providers/local/postgres/primary.ts

export const wordsOf = ({ provider, wanted }: Ha) =>
  ask(provider, wanted, `select string_agg(word, ',' order by word) from kept`)

export async function messagesUntilSettled(ha: Pick<Ha, 'provider' | 'wanted'>): Promise<string[]> {
  return (await eventsUntilSettled(ha)).map(({ message }) => message)
}

export async function kindsUntilSettled(ha: Pick<Ha, 'provider' | 'wanted'>): Promise<string[]> {
  return (await eventsUntilSettled(ha)).map(({ kind }) => kind)
}

async function eventsUntilSettled({ provider, wanted }: Pick<Ha, 'provider' | 'wanted'>) {
  const told: ObservedService['events'][number][] = []
  await until(async () => {
    const { settled, events } = await provider.service.apply(wanted)
    told.push(...events)
    return settled
  })
  return told
}
