// Which known name a mistyped one was meant to be: the known name with the fewest keystrokes of difference. Pure.

/** Longer names are not compared: no member has one. */
const characters_max = 64
const beginning_characters_min = 3

/** Undefined where no name is near: a far-fetched guess misleads. */
export function nearestOf(name: string, known: readonly string[]): string | undefined {
  if (name.length > characters_max) return undefined
  const plain = plainOf(name)
  const [nearest] = known
    .map((one) => ({ one, steps: stepsBetween(plain, plainOf(one)) }))
    .filter(({ one, steps }) => steps <= Math.max(1, Math.floor(plainOf(one).length / 3)))
    .toSorted((a, b) => a.steps - b.steps)
  return nearest?.one ?? (plain.length < beginning_characters_min ? undefined : beginningWith(plain, known))
}

/** `region` is the beginning of `region_code`, however much is missing. */
function beginningWith(plain: string, known: readonly string[]): string | undefined {
  return known.find((one) => plainOf(one).startsWith(plain))
}

/** Case and separators are matters of habit: `syncReplicaCount` is `sync_replica_count`. */
function plainOf(name: string): string {
  return name.toLowerCase().replaceAll(/[_\-\s.]/g, '')
}

/** Letters to insert, remove, replace or swap with their neighbour (optimal string alignment). */
function stepsBetween(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, column) => column)]
  for (let row = 1; row <= one.length; row += 1) {
    const line = [row]
    for (let column = 1; column <= other.length; column += 1) {
      const same = one[row - 1] === other[column - 1]
      const swapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      const steps = [
        at(rows[row - 1], column) + 1,
        at(line, column - 1) + 1,
        at(rows[row - 1], column - 1) + (same ? 0 : 1),
        ...(swapped ? [at(rows[row - 2], column - 2) + 1] : []),
      ]
      line.push(Math.min(...steps))
    }
    rows.push(line)
  }
  return at(rows.at(-1), other.length)
}

function at(line: readonly number[] | undefined, column: number): number {
  return line?.[column] ?? Number.POSITIVE_INFINITY
}
