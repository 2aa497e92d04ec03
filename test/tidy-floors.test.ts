// The floors of the tree as a test: each part imports what lies below it, and no two parts import each other.
import { basename, posix } from 'node:path'
import { expect, test } from 'vitest'
import { importsOf, production } from './sources.ts'

type Tree = { root: string; floors: readonly (readonly string[])[] }

/** From the top; each part imports what lies below it. */
const trees: readonly Tree[] = [
  {
    root: 'providers/',
    floors: [
      ['registry', 'store-program'],
      ['local', 'kubernetes', 'memory'],
      ['postgres'],
      ['host'],
      ['provider', 'address', 'backup', 'cidr', 'log', 'offered', 'query', 'region-facts', 'setback'],
    ],
  },
  {
    // '' is for the files that lie beside the folders: they wire.
    root: 'providers/local/',
    floors: [
      [''],
      ['service', 'replica-set', 'vpc', 'backup'],
      ['ha', 'pooler', 'snapshot', 'wal', 'log', 'metric', 'query', 'quota', 'haproxy'],
      ['network'],
      ['postgres'],
      ['host'],
    ],
  },
  {
    root: 'providers/kubernetes/',
    floors: [
      ['kubernetes'],
      ['facts', 'doctor'],
      ['service', 'replica-set'],
      ['pooler', 'metric', 'snapshot', 'log'],
      ['cluster'],
      ['cell', 'names', 'sizes', 'phase', 'settings'],
      ['store'],
      ['api'],
    ],
  },
  {
    // Here a file that lies beside the folders has a floor of its own: some wire, some are shared.
    root: 'server/',
    floors: [
      ['main'],
      ['backup', 'capabilities', 'checks', 'passes', 'registration', 'warnings', 'watch-over'],
      ['console', 'mcp', 'metric', 'peering', 'query', 'replica-set', 'service-log'],
      ['oauth', 'project', 'service'],
      ['audit', 'member', 'snapshot', 'vpc'],
      ['identity'],
      [
        'address',
        'adoption',
        'event',
        'event-retention',
        'healing',
        'patrol',
        'reconcile',
        'reconciler',
        'regions',
        'settled',
        'work',
      ],
      ['http'],
      ['store'],
      [
        'backup-target',
        'config',
        'id',
        'installation',
        'log',
        'moment',
        'random-text',
        'region-file',
        'secret',
        'setting-value',
        'whole-file',
        'within',
      ],
    ],
  },
]

test.each(trees)('in $root no import runs up a floor, and no two parts of one floor import each other', (tree) => {
  const parts = production.filter(({ path }) => path.startsWith(tree.root))
  const arrows = parts.flatMap((source) =>
    importsOf(source)
      .filter((target) => target.startsWith('.'))
      .map((target) => posix.normalize(posix.join(posix.dirname(source.path), target)))
      .filter((path) => path.startsWith(tree.root))
      .map((path) => ({ source: source.path, path, from: partOf(tree, source.path), to: partOf(tree, path) }))
      .filter(({ from, to }) => from !== to),
  )
  const isBack = (one: string, other: string) => arrows.some(({ from, to }) => from === one && to === other)
  const floorOf = (part: string) => tree.floors.findIndex((floor) => floor.includes(part))
  const wrong = arrows.filter(
    ({ from, to }) => floorOf(from) >= floorOf(to) && (floorOf(from) > floorOf(to) || isBack(to, from)),
  )
  expect(wrong.map(({ source, path }) => `${source} imports ${path}`)).toEqual([])
  // A new part is given its floor.
  const unplaced = parts.map(({ path }) => partOf(tree, path)).filter((part) => floorOf(part) < 0)
  expect(unplaced).toEqual([])
})

test('what wires regions knows providers by their registry; the rest of the server knows their interface and its host', () => {
  const known = /^#providers\/(host|postgres)\/|^#providers\/(log|provider|registry|store-program)\.ts$/
  const wrong = production
    .filter(({ folder }) => folder === 'server')
    .flatMap((source) => importsOf(source).map((target) => `${source.path} imports ${target}`))
    .filter((arrow) => arrow.includes(' #providers/') && !known.test(arrow.split(' ').at(-1) ?? ''))
  expect(wrong).toEqual([])
  const wiring = production.filter(({ folder, text }) => folder === 'server' && text.includes('#providers/registry.ts'))
  expect(wiring.map(({ path }) => path)).toEqual(['server/region-file.ts', 'server/regions.ts'])
})

test('only the way of all changes writes what is wanted of a service', () => {
  const writers = production.filter(({ text }) => /\bsaveWanted\(/.test(text)).map(({ path }) => path)
  expect(writers).toEqual(['server/service/change.ts', 'server/service/store.ts'])
})

/** Its folder; of a file beside the folders the name, where the tree's floors name such files. */
function partOf({ root, floors }: Tree, path: string): string {
  const [first = '', ...below] = path.slice(root.length).split('/')
  if (below.length > 0) return first
  return floors[0]?.includes('') ? '' : basename(first, '.ts')
}
