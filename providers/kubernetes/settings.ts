// The members of a region's entry in the regions file that regard Kubernetes. Pure; refused with words that name the region.
import { isIP } from 'node:net'
import { dirname, resolve } from 'node:path'
import type { CellSettings } from './cell.ts'
import { parseStore } from './store/settings.ts'

type Members = Readonly<Record<string, unknown>>

const known = [
  'kubeconfig',
  'context',
  'host',
  'node_ports',
  'storage_class',
  'storage_gbs',
  'catalog',
  'extensions',
  'pooler_image',
  'store',
  'control_plane',
  'cpu_overcommit',
] as const

const storage_gbs_default = 20
const storage_gbs_max = 65_536
const cpu_overcommit_max = 50
/** As Kubernetes has it when its API server is told nothing else. */
const node_ports_default = '30000-32767'

/** `near`: the regions file, beside which a relative path begins. */
export function parseSettings(region: string, members: Members, near: string): CellSettings {
  const refuse = (problem: string): never => {
    throw new Error(`region ${region} ${problem}`)
  }
  const strange = Object.keys(members).find((name) => !known.some((one) => one === name))
  if (strange !== undefined) refuse(`has the unknown member ${strange}; known are ${known.join(', ')}`)
  const text = (name: (typeof known)[number]): string | undefined => {
    const value = members[name]
    if (value === undefined) return undefined
    return typeof value === 'string' && value !== '' ? value : refuse(`has a ${name} that must be a text`)
  }
  const [kubeconfig, context, storage_class, pooler_image] = [
    text('kubeconfig'),
    text('context'),
    text('storage_class'),
    text('pooler_image'),
  ]
  const store = parseStore(members['store'], refuse)
  return {
    ...(kubeconfig !== undefined && { kubeconfig: resolve(dirname(near), kubeconfig) }),
    ...(context !== undefined && { context }),
    host: text('host') ?? refuse('needs a host, at which clients reach its node ports'),
    node_ports:
      portsOf(text('node_ports') ?? node_ports_default) ??
      refuse(`has node_ports that must be like ${node_ports_default}`),
    ...(storage_class !== undefined && { storage_class }),
    storage_gbs:
      gbsOf(members['storage_gbs']) ?? refuse(`has a storage_gbs that must be a number from 1 to ${storage_gbs_max}`),
    catalog: text('catalog') ?? refuse('needs a catalog, the name of a ClusterImageCatalog'),
    extensions: namesOf(members['extensions']) ?? refuse('has extensions that must be a list of names'),
    ...(pooler_image !== undefined && { pooler_image }),
    ...(store !== undefined && { store }),
    ...(members['cpu_overcommit'] !== undefined && {
      cpu_overcommit:
        overcommitOf(members['cpu_overcommit']) ??
        refuse(`has a cpu_overcommit that must be a number from 1 to ${cpu_overcommit_max}`),
    }),
    ...(members['control_plane'] !== undefined && {
      control_plane:
        rangesOf(members['control_plane']) ?? refuse('has a control_plane that must be a list like ["192.0.2.0/28"]'),
    }),
  }
}

function portsOf(text: string): CellSettings['node_ports'] | undefined {
  const [, first, last] = /^(\d{1,5})-(\d{1,5})$/.exec(text) ?? []
  const range = { first: Number(first), last: Number(last) }
  return range.first > 0 && range.first <= range.last && range.last < 65_536 ? range : undefined
}

/** An empty one would shut the API server out. */
function rangesOf(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined
  const ranges: unknown[] = value
  return ranges.every((one): one is string => typeof one === 'string' && isRange(one)) ? ranges : undefined
}

function isRange(text: string): boolean {
  const [, address = '', bits] = /^([\da-f.:]+)\/(\d{1,3})$/i.exec(text) ?? []
  const family = isIP(address)
  return family !== 0 && Number(bits) <= (family === 4 ? 32 : 128)
}

function gbsOf(value: unknown = storage_gbs_default): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= storage_gbs_max
    ? value
    : undefined
}

const overcommitOf = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 1 && value <= cpu_overcommit_max ? value : undefined

function namesOf(value: unknown = []): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined
  const names: unknown[] = value
  return names.every((name): name is string => typeof name === 'string' && /^[a-z_0-9]+$/.test(name))
    ? names
    : undefined
}
