// The text in which Prometheus reads metrics, as far as the provider reads it. Pure. Lines that are not asked for are passed over, so
// a Pod cannot make the server hold more than the few that it wants; every pattern takes time in proportion to the text, whatever it is.

/** `at_ms`: when it was measured, where that is told. */
export type Sample = { name: string; labels: Readonly<Record<string, string>>; value: number; at_ms?: number }

const samples_max = 10_000

export function samplesOf(text: string, names: ReadonlySet<string>): Sample[] {
  const samples: Sample[] = []
  for (const line of text.split('\n')) {
    const end = line.search(/[{ ]/)
    if (end <= 0 || !names.has(line.slice(0, end)) || samples.length >= samples_max) continue
    const [, name = '', labels = '', value = '', at] = line_form.exec(line) ?? []
    if (value !== '' && !Number.isNaN(Number(value)))
      samples.push({
        name,
        labels: labelsOf(labels),
        value: Number(value),
        ...(at !== undefined && { at_ms: Number(at) }),
      })
  }
  return samples
}

/** A name, labels if there are some, a number, and a time if it is told. */
const line_form = /^(\w+)(?:\{(.*)\})? (\S+)(?: (\d+))?$/

function labelsOf(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/(?<!\w)(\w+)="((?:[^"\\]|\\.)*)"/g)]
  return Object.fromEntries(pairs.map(([, name = '', value = '']) => [name, value.replaceAll(/\\(.)/g, '$1')]))
}

export const sumOf = (
  samples: readonly Sample[],
  name: string,
  where: Readonly<Record<string, string>> = {},
): number | undefined => {
  const found = samples.filter(
    (one) => one.name === name && Object.entries(where).every(([label, value]) => one.labels[label] === value),
  )
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0)
}
