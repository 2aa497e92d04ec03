// What every bench prints: one row a figure, with the floor that was measured in the same run, the ratio and the goal.
// Absolute numbers belong to a machine; the ratio is what the README claims.

export type Figure = {
  what: string
  floor?: string
  ours: string
  ratio?: number
  /** Absent: a figure to know, not to reach. */
  goal?: { text: string; reached: boolean }
}

export function printFigures(title: string, figures: readonly Figure[]): void {
  const rows = figures.map((figure) => [
    figure.what,
    figure.floor ?? '–',
    figure.ours,
    figure.ratio === undefined ? '–' : figure.ratio.toFixed(2),
    figure.goal === undefined ? '–' : `${figure.goal.text} ${figure.goal.reached ? '(reached)' : '(MISSED)'}`,
  ])
  const table = [['figure', 'floor', 'ours', 'ratio', 'goal'], ...rows]
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...table.map((row) => (row[column] ?? '').length)))
  console.log(`\n${title}`)
  for (const row of table) console.log(`| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`)
}

/** What a bench of minutes is doing now. */
export function say(what: string): void {
  console.log(`${new Date().toISOString().slice(11, 19)} ${what}`)
}

export function atMost(limit: number, value: number, unit = ''): { text: string; reached: boolean } {
  return { text: `≤ ${limit}${unit}`, reached: value <= limit }
}

export function atLeast(limit: number, value: number): { text: string; reached: boolean } {
  return { text: `≥ ${limit}`, reached: value >= limit }
}

export function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** `84 ms (79..97)`: the median with its range, so that a noisy run is seen to be one. */
export function spread(values: readonly number[], unit: string): string {
  const whole = (value: number) => value.toFixed(value < 10 ? 1 : 0)
  return `${whole(medianOf(values))} ${unit} (${whole(Math.min(...values))}..${whole(Math.max(...values))})`
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}
