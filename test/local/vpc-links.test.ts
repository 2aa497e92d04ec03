// Peerings as links between networks of this machine: there while both sides consent, and cut before a deletion is answered.
import { execFileSync } from 'node:child_process'
import { beforeAll, expect, test } from 'vitest'
import { namespaceOf } from '#providers/local/network/name.ts'
import { openInstallation } from '#server/installation.ts'
import { openCallers } from '#test/http/callers.ts'
import { list, newSides, peer, type Side, untilActive, withdrawWhileAnswered } from '#test/http/peers.ts'
import { startInstallation } from '#test/installation.ts'
import { why_no_networks as why } from '#test/network/vpc-fixture.ts'
import { shared } from '#test/shared.ts'

const installation = shared(startInstallation)
const callers = shared(() => openCallers(installation))
let newSide: ReturnType<typeof newSides>

beforeAll(async () => {
  newSide = newSides(callers)
})

/** The interfaces in the VPC that lead to others, as they are on this host right now. */
async function linksOf({ vpc }: Side): Promise<string[]> {
  const { installation_id } = await openInstallation(installation.config.data_dir)
  const namespace = namespaceOf({ installation_id }, vpc.id)
  const lines = execFileSync('ip', ['-n', namespace, '-o', 'link', 'show', 'type', 'veth'], { encoding: 'utf8' })
  return [...lines.matchAll(/^\d+: (\w+)@/gm)].map(([, link = '']) => link)
}

const linksOfBoth = (one: Side, other: Side) => Promise.all([linksOf(one), linksOf(other)])

test.skipIf(why)(`two networks are linked while both sides consent, and cut when one does not${why}`, async () => {
  const [one, other] = [await newSide(), await newSide()]
  const asked = await peer(one, other)
  const answered = await peer(other, one)
  await untilActive(one, asked.body.id)
  await untilActive(other, answered.body.id)
  expect(await linksOfBoth(one, other)).toEqual([[`v${other.vpc.id}`], [`v${one.vpc.id}`]])
  expect((await other.call('DELETE', `${other.peerings}/${answered.body.id}`)).status).toBe(204)
  expect(await linksOfBoth(one, other)).toEqual([[], []])
})

test.skipIf(why)(`one side that withdraws while the other answers leaves no link${why}`, async () => {
  const [one, other] = [await newSide(), await newSide()]
  await withdrawWhileAnswered(callers, one, other)
  expect(await list(one)).toEqual([])
  expect(await linksOfBoth(one, other)).toEqual([[], []])
})
