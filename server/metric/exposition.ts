// Prometheus' text format, and the two kinds of instruments that need memory: histograms here, everything else is read when
// it is scraped. Written by hand because it is this little. Pure but for the counting.

export type Labels = Readonly<Record<string, string>>
export type Reading = { labels: Labels; value: number }

export function family(name: string, type: 'gauge' | 'counter', help: string, readings: readonly Reading[]): string {
  if (readings.length === 0) return ''
  return head(name, type, help) + readings.map(({ labels, value }) => line(name, labels, value)).join('')
}

export type Histogram = { observe(labels: Labels, value: number): void; text(): string }

/** More combinations of labels than this are a mistake of ours; further ones are not counted. */
const label_sets_max = 2_000

export function newHistogram(name: string, help: string, bounds: readonly number[]): Histogram {
  const sets = new Map<string, { labels: Labels; counts: number[]; sum: number }>()
  return {
    observe: (labels, value) => {
      const key = Object.values(labels).join('\u0000')
      let set = sets.get(key)
      if (set === undefined) {
        if (sets.size === label_sets_max) return
        set = { labels, counts: Array<number>(bounds.length + 1).fill(0), sum: 0 }
        sets.set(key, set)
      }
      const at = bounds.findIndex((bound) => value <= bound)
      const slot = at < 0 ? bounds.length : at
      set.counts[slot] = (set.counts[slot] ?? 0) + 1
      set.sum += value
    },
    text: () => (sets.size === 0 ? '' : head(name, 'histogram', help) + [...sets.values()].map(linesOf).join('')),
  }

  function linesOf({ labels, counts, sum }: { labels: Labels; counts: readonly number[]; sum: number }): string {
    let count = 0
    const buckets = counts.map((more, at) => {
      count += more
      const le = at < bounds.length ? String(bounds[at]) : '+Inf'
      return line(`${name}_bucket`, { ...labels, le }, count)
    })
    return buckets.join('') + line(`${name}_sum`, labels, sum) + line(`${name}_count`, labels, count)
  }
}

function head(name: string, type: string, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
}

function line(name: string, labels: Labels, value: number): string {
  const inside = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`)
  return `${name}${inside.length === 0 ? '' : `{${inside.join(',')}}`} ${value}\n`
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
