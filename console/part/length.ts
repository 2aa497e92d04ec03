// Lengths of time as people read them. None is negative: where the browser's clock is behind the server's, what has just begun has
// lasted 0 s.

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const

/** Such as `2 d`: the greatest part. */
export function greatestPartOf(ms: number): string {
  const [unit, size] = units.find(([, one]) => ms >= one) ?? units[3]
  return `${Math.trunc(Math.max(0, ms) / size)} ${unit}`
}

/** Such as `2 d 3 h`: the two greatest parts. */
export function lengthOf(ms: number): string {
  const parts: [string, number][] = [
    ['d', Math.floor(ms / 86_400_000)],
    ['h', Math.floor(ms / 3_600_000) % 24],
    ['min', Math.floor(ms / 60_000) % 60],
    ['s', Math.floor(ms / 1000) % 60],
  ]
  const first = parts.findIndex(([, count]) => count > 0)
  if (first === -1) return '0 s'
  return parts
    .slice(first, first + 2)
    .filter(([, count]) => count > 0)
    .map(([unit, count]) => `${count} ${unit}`)
    .join(' ')
}
