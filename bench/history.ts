// Bench: a service with replicas is broken round after round while clients write and read: which rows were lost or missed, and how
// long writes failed. `--rounds`, `--seed`, `--replicas` and `--sync` choose; `--kinds` names faults, separated by commas.
import { parseArgs } from 'node:util'
import { type FaultKind, faults } from '#test/history/faults.ts'
import { type Round, runHistory } from '#test/history/history.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    replicas: { type: 'string', default: '2' },
    sync: { type: 'string', default: '1' },
    kinds: { type: 'string', default: '' },
  },
})
const known = Object.keys(faults) as FaultKind[] // the keys of the object itself
const kinds = known.filter((kind) => values.kinds.split(',').includes(kind))
const broken_off = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => broken_off.abort(new Error(`ended by ${signal}`)))
const observed = await runHistory({
  signal: broken_off.signal,
  rounds: Number(values.rounds),
  seed: Number(values.seed),
  replica_count: Number(values.replicas),
  sync_replica_count: Number(values.sync),
  ...(kinds.length > 0 && { kinds }),
  onRound: ({ round, kind, longest_outage_ms, verdict, stale }) => {
    const wrong = brokenOf({ verdict, stale })
    const words = [`${round}`.padStart(4), kind.padEnd(26), `${longest_outage_ms.toFixed(0)} ms`.padStart(9)]
    console.log(`${words.join(' ')}${wrong > 0 ? ` BROKEN: ${JSON.stringify({ ...verdict, stale })}` : ''}`)
  },
}).catch((error: unknown) => {
  console.error(error)
  process.exit(1)
})

console.log(`\nhistory of ${values.replicas} replicas, ${values.sync} synchronous, seed ${values.seed}`)
console.log('| fault | rounds | longest outage, median | longest outage, worst |')
for (const kind of new Set(observed.rounds.map((round) => round.kind))) {
  const outages = observed.rounds.filter((round) => round.kind === kind).map((round) => round.longest_outage_ms)
  const sorted = outages.toSorted((a, b) => a - b)
  const cells = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)].map((ms) => `${(ms ?? 0).toFixed(0)} ms`)
  console.log(`| ${kind} | ${outages.length} | ${cells.join(' | ')} |`)
}
const broken = observed.rounds.reduce((sum, round) => sum + brokenOf(round), 0)
console.log(
  `${observed.rounds.length} rounds, ${observed.acknowledged} writes acknowledged, ${observed.unknown} unknown, ${observed.reads} reads; ` +
    `${broken} lost, doubled, invented or missed by a later read`,
)
process.exit(broken > 0 ? 1 : 0)

function brokenOf({ verdict: { lost, doubled, invented }, stale }: Pick<Round, 'verdict' | 'stale'>): number {
  return lost.length + doubled.length + invented.length + stale.length
}
