// What the text of each setting may be, and what it means. A parser throws a problem that reads on after the setting's
// name. Reads its arguments only, besides who the user is: no file.
import { isIP } from 'node:net'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { rangeProblem } from '#contract/cidr.ts'
import { parseDuration } from '#contract/duration.ts'
import { type Role, roles } from '#contract/endpoint.ts'
import { isEmail } from '#contract/problem.ts'
import { isHostRoot } from '#providers/host/privilege.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export const log_levels = ['debug', 'info', 'warn', 'error', 'silent'] as const

export function wholeNumber(first: number, last: number) {
  return (text: string): number => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (number >= first && number <= last) return number
    throw new Error(`must be a whole number from ${first} to ${last}, not ${JSON.stringify(text)}`)
  }
}

export function parseHost(text: string): string {
  if (isIP(text) !== 0 || isHostName(text)) return text
  throw new Error(`must be an address or a host name, not ${JSON.stringify(text)}`)
}

export function parseServiceHost(text: string): string {
  if (/^[0.:]+$/.test(text)) {
    throw new Error(`must be one address that clients can dial, not ${JSON.stringify(text)}`)
  }
  return parseHost(text)
}

function isHostName(text: string): boolean {
  return text.length <= 253 && /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i.test(text)
}

export function parseDirectory(text: string): string {
  if (text.trim() === '') throw new Error('must name a directory')
  return resolve(text)
}

export function dataDirectoryOf(env: Environment): string {
  const home = env['XDG_DATA_HOME'] ?? join(env['HOME'] ?? homedir(), '.local', 'share')
  return isHostRoot() ? '/var/lib/howdah' : join(home, 'howdah')
}

export function parseDatabaseUrl(text: string): string | undefined {
  if (text === '') return undefined
  // The text itself may contain a password, so the problem does not repeat it.
  if (/^postgres(ql)?:\/\/.+/.test(text)) return text
  throw new Error('must look like postgres://user:password@host:5432/database')
}

export function parseEmail(text: string): string {
  if (isEmail(text)) return text
  throw new Error(`must look like an e-mail address, such as ada@example.com, not ${JSON.stringify(text)}`)
}

export function parseRegion(text: string): string {
  if (/^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/.test(text)) return text
  throw new Error(`must be 1 to 64 characters of a–z, 0–9 and inner hyphens, not ${JSON.stringify(text)}`)
}

export function parsePorts(text: string): { first: number; last: number } {
  const match = /^(\d{1,5})-(\d{1,5})$/.exec(text)
  const [first, last] = [Number(match?.[1]), Number(match?.[2])]
  if (match !== null && first >= 1024 && first <= last && last <= 65535) return { first, last }
  throw new Error(`must be a range within 1024-65535 such as 20000-29999, not ${JSON.stringify(text)}`)
}

export function parseDirectories(text: string): readonly string[] {
  const directories = text.split(':').filter((directory) => directory !== '')
  const relative = directories.find((directory) => !directory.startsWith('/'))
  if (relative === undefined) return directories
  throw new Error(`must be absolute paths separated by colons, not ${JSON.stringify(relative)}`)
}

export function parseNetworks(text: string): readonly string[] {
  const networks = text.split(',').map((network) => network.trim())
  const named = networks.filter((network) => network !== '')
  const wrong = named.find((network) => !isNetwork(network))
  if (wrong === undefined) return named
  throw new Error(`must be addresses or networks such as 10.0.0.0/8, separated by commas, not ${JSON.stringify(wrong)}`)
}

export function parseVpcRanges(text: string): readonly string[] {
  const ranges = text.split(',').map((range) => range.trim())
  const problem = ranges.map((range) => rangeProblem(range)).find((one) => one !== undefined)
  if (problem === undefined) return ranges
  throw new Error(`must be networks separated by commas; each ${problem}; not ${JSON.stringify(text)}`)
}

function isNetwork(text: string): boolean {
  const [address = '', prefix] = text.split('/')
  const bits_max = isIP(address) === 4 ? 32 : isIP(address) === 6 ? 128 : -1
  if (bits_max === -1 || text.split('/').length > 2) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) >= 1 && Number(prefix) <= bits_max)
}

export function parseYesOrNo(text: string): boolean {
  if (text === 'yes' || text === 'no') return text === 'yes'
  throw new Error(`must be yes or no, not ${JSON.stringify(text)}`)
}

export function parseOnOrOff(text: string): 'on' | 'off' {
  if (text === 'on' || text === 'off') return text
  throw new Error(`must be on or off, not ${JSON.stringify(text)}`)
}

export function parseOptional(text: string): string | undefined {
  return text === '' ? undefined : text
}

export function parseOrigin(text: string): string | undefined {
  if (text === '') return undefined
  const url = URL.parse(text)
  if (url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url.origin
  throw new Error(`must be like https://howdah.example.com, without a path, not ${JSON.stringify(text)}`)
}

export function parseIssuer(text: string): string | undefined {
  if (text === '') return undefined
  const url = URL.parse(text)
  const is_safe =
    url?.protocol === 'https:' || (url?.protocol === 'http:' && /^(127\.0\.0\.1|localhost)$/.test(url.hostname))
  if (is_safe && url.search === '' && url.hash === '' && url.username === '') return text
  throw new Error(`must be the https:// address of an issuer, not ${JSON.stringify(text)}`)
}

export function parseGroups(text: string): readonly { group: string; project_id: string; role: Role }[] {
  return text
    .split(',')
    .filter((entry) => entry.trim() !== '')
    .map((entry) => {
      const match = /^(.+)=([a-z0-9]{10}):([a-z]+)$/.exec(entry.trim())
      const role = roles.find((known) => known === match?.[3])
      if (match?.[1] !== undefined && match[2] !== undefined && role !== undefined) {
        return { group: match[1], project_id: match[2], role }
      }
      throw new Error(
        `must be like admins=a1b2c3d4e5:admin, with one of ${roles.join(', ')}, not ${JSON.stringify(entry.trim())}`,
      )
    })
}

export function parseLogLevel(text: string): (typeof log_levels)[number] {
  const level = log_levels.find((known) => known === text)
  if (level !== undefined) return level
  throw new Error(`must be one of ${log_levels.join(', ')}, not ${JSON.stringify(text)}`)
}

export function parseSnapshots(text: string): { interval_seconds: number; kept: number } {
  const [, interval = '', count] = /^(\d{1,6}[smhd]),(\d{1,4})$/.exec(text) ?? []
  const [interval_seconds, kept] = [secondsOf(interval), Number(count)]
  if (interval_seconds >= 1 && kept >= 1) return { interval_seconds, kept }
  throw new Error(`must be a time and a number such as 24h,7, not ${JSON.stringify(text)}`)
}

/** In seconds. */
export function parseUndelete(text: string): number {
  if (text === '0') return 0
  if (/^\d{1,6}[smhd]$/.test(text)) return secondsOf(text)
  throw new Error(`must be a time such as 24h, or 0, not ${JSON.stringify(text)}`)
}

const secondsOf = (text: string) => (parseDuration(text) ?? 0) / 1000

export function parseLogRetention(text: string): { days: number; mb: number } {
  const match = /^(\d{1,4})d,(\d{2,7})MB$/i.exec(text)
  const [days, mb] = [Number(match?.[1]), Number(match?.[2])]
  if (days >= 1 && mb >= 10) return { days, mb }
  throw new Error(`must be days and at least 10 megabytes such as 7d,1024MB, not ${JSON.stringify(text)}`)
}

const loopback_form = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/

/** Whether only this machine reaches it. */
export const isLoopback = (host: string): boolean => loopback_form.test(host)
