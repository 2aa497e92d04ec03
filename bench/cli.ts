// Bench: `howdah service list` as a person runs it, against `node -e fetch(…)` of the same list with the same Node: what a command costs
// beyond its request. Both take turns in one run.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { repository } from '#test/e2e/howdah.ts'
import { atMost, medianOf, printFigures, spread } from './figures.ts'
import { withHowdah } from './howdah.ts'
import { inPlace } from './place.ts'

const script = `fetch(process.env.LIST, { headers: { authorization: 'Bearer ' + process.env.HOWDAH_TOKEN } })
  .then((response) => response.json()).then((list) => console.log(list))`

await inPlace(40, async ({ folder, runs }) => {
  await withHowdah(join(folder, 'howdah'), async (bench) => {
    const { service_id } = await bench.createService('bench')
    await bench.waitFor(service_id, 'READY')
    const env = {
      ...process.env,
      HOWDAH_SERVER: bench.url,
      HOWDAH_TOKEN: bench.token,
      HOWDAH_PROJECT: bench.project_id,
      LIST: `${bench.url}/projects/${bench.project_id}/services`,
    }
    const took = (program: string, words: readonly string[]) => {
      const start = performance.now()
      const { status, stderr } = spawnSync(program, words, { env, encoding: 'utf8' })
      if (status !== 0) throw new Error(stderr)
      return performance.now() - start
    }
    const floor: number[] = []
    const ours: number[] = []
    // The first of each fills the caches.
    for (let run = -1; run < runs; run += 1) {
      const turn = [
        took(process.execPath, ['-e', script]),
        took(join(repository, 'bin', 'howdah'), ['service', 'list']),
      ]
      if (run >= 0) [floor, ours].forEach((list, index) => list.push(turn[index] ?? Number.NaN))
    }
    const ratio = medianOf(ours.map((value, run) => value / (floor[run] ?? Number.NaN)))
    printFigures(`cli, ${runs} runs`, [
      {
        what: 'howdah service list',
        floor: spread(floor, 'ms'),
        ours: spread(ours, 'ms'),
        ratio,
        goal: atMost(2, ratio),
      },
    ])
  })
})
