// Where each service of a family stands in its drawing: older ones to the left, a parent at the height of the middle of its forks. Pure.
import type { Api } from '#contract/api.ts'
import type { OutputOf } from '#contract/endpoint.ts'

export type Kin = OutputOf<Api['getLineage']>[number]
/** `depth`: how many parents it has; `row`: which line, in halves; `lead`: the lines before its name in a list. */
export type Placed = { kin: Kin; depth: number; row: number; lead: string; parent: Placed | undefined }
export type Family = { placed: readonly Placed[]; rows: number; depth: number }

/** Of all that share an ancestor with the service. */
export function familyOf(all: readonly Kin[], service_id: string): Family {
  const by_id = new Map(all.map((kin) => [kin.service_id, kin]))
  const parentOf = (kin: Kin | undefined) => by_id.get(kin?.forked_from?.service_id ?? '')
  let oldest = by_id.get(service_id)
  while (parentOf(oldest) !== undefined) oldest = parentOf(oldest)
  const placed: Placed[] = []
  let rows = 0
  const place = (kin: Kin, depth: number, lead: string, deeper: string, parent: Placed | undefined): Placed => {
    const own: Placed = { kin, depth, row: 0, lead, parent }
    placed.push(own)
    const forks = all.filter((one) => parentOf(one) === kin)
    const below = forks.map((fork, index) => {
      const is_last = index === forks.length - 1
      return place(fork, depth + 1, `${deeper}${is_last ? '└─' : '├─'}`, `${deeper}${is_last ? '  ' : '│ '}`, own)
    })
    const [first, last] = [below[0], below.at(-1)]
    if (first === undefined || last === undefined) {
      own.row = rows
      rows += 1
    } else own.row = (first.row + last.row) / 2
    return own
  }
  if (oldest !== undefined) place(oldest, 0, '', '', undefined)
  return { placed, rows, depth: Math.max(0, ...placed.map(({ depth }) => depth)) }
}
