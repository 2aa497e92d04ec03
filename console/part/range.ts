// The lengths of time that pages offer to look back over.

export const ranges = [
  { value: '15m', label: '15 min', ms: 900_000 },
  { value: '1h', label: '1 h', ms: 3_600_000 },
  { value: '6h', label: '6 h', ms: 21_600_000 },
  { value: '24h', label: '1 d', ms: 86_400_000 },
  { value: '7d', label: '7 d', ms: 604_800_000 },
  { value: '30d', label: '30 d', ms: 2_592_000_000 },
] as const
export type Range = (typeof ranges)[number]['value']

/** A young service has little to show, and minutes that are whole after a minute only. */
export function usualRange(created: string): (typeof ranges)[0 | 1] {
  const is_young = Date.now() - Date.parse(created) < ranges[1].ms / 2
  return ranges[is_young ? 0 : 1]
}
