// The file that lists the regions of a server, for installations that have more than this machine. Refused with a problem that names
// the entry and reads on after the setting's name.
import { readFileSync } from 'node:fs'
import { provider_names, type ProviderName } from '#providers/registry.ts'
import { messageOf } from '#providers/host/message.ts'
import { parseRegion } from './setting-value.ts'

/**
 * delay_seconds: how long each change takes where nothing is really made. copy_host: where other regions reach the services of this
 * machine. members: of a provider with settings of its own, which reads them when it is opened; near: the file that they are in.
 */
export type RegionRow = {
  region_code: string
  provider: ProviderName
  delay_seconds?: number
  copy_host?: string
  members?: Readonly<Record<string, unknown>>
  near?: string
}

const members = ['region_code', 'provider', 'delay_seconds', 'copy_host'] as const
const delay_seconds_max = 86_400
const form = `must name a JSON file such as [{"region_code": "local", "provider": "local"}]`

/** Undefined: there is no such file, and the region is this machine. */
export function parseRegionFile(path: string): readonly RegionRow[] | undefined {
  if (path === '') return undefined
  const rows = readRows(path)
  const codes = rows.map(({ region_code }) => region_code)
  const twice = codes.find((code, at) => codes.indexOf(code) !== at)
  if (twice !== undefined) throw new Error(`names ${path}, which has the region ${twice} twice`)
  if (rows.filter(({ provider }) => provider === 'local').length > 1) {
    throw new Error(`names ${path}, which has more than one region with the provider local: this machine is one region`)
  }
  return rows
}

function readRows(path: string): RegionRow[] {
  const list = parsed(path)
  if (!Array.isArray(list) || list.length === 0) throw new Error(`${form}, and ${path} is no list with an entry`)
  return list.map((entry: unknown, at) => {
    try {
      return parseRow(entry, path)
    } catch (error) {
      const reason = messageOf(error)
      throw new Error(`names ${path}, whose entry ${at + 1} ${reason}`, { cause: error })
    }
  })
}

function parsed(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new Error(`${form}; ${messageOf(error)}`, { cause: error })
  }
}

function parseRow(entry: unknown, path: string): RegionRow {
  if (typeof entry !== 'object' || entry === null) throw new Error('is no object')
  if ('provider' in entry && entry.provider === 'kubernetes') {
    const { region_code, provider: _kubernetes, ...own } = entry as Record<string, unknown> // an object by the check
    return { ...parseRow({ region_code, provider: 'memory' }, path), provider: 'kubernetes', members: own, near: path }
  }
  const unknown = Object.keys(entry).find((name) => !members.some((one) => one === name))
  if (unknown !== undefined) throw new Error(`has the unknown member ${unknown}; known are ${members.join(', ')}`)
  // Each member is checked below.
  const { region_code, provider, delay_seconds, copy_host } = entry as Partial<
    Record<(typeof members)[number], unknown>
  >
  const known = provider_names.find((name) => name === provider)
  if (known === undefined) throw new Error(`needs a provider, one of ${provider_names.join(', ')}`)
  if (typeof region_code !== 'string') throw new Error('needs a region_code')
  if (delay_seconds !== undefined && known !== 'memory')
    throw new Error('has a delay_seconds, which goes with memory only')
  if (delay_seconds !== undefined && !isDelay(delay_seconds)) {
    throw new Error(`has a delay_seconds that must be a number from 0 to ${delay_seconds_max}`)
  }
  if (copy_host !== undefined && known !== 'local') throw new Error('has a copy_host, which goes with local only')
  if (copy_host !== undefined && !isHost(copy_host))
    throw new Error('has a copy_host that must be a name or an address')
  try {
    return {
      region_code: parseRegion(region_code),
      provider: known,
      ...(delay_seconds !== undefined && { delay_seconds }),
      ...(copy_host !== undefined && { copy_host }),
    }
  } catch (error) {
    throw new Error(`has a region_code that ${error instanceof Error ? error.message : ''}`, { cause: error })
  }
}

const isDelay = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value <= delay_seconds_max

const isHost = (value: unknown): value is string => typeof value === 'string' && /^[\w.:-]{1,253}$/.test(value)
