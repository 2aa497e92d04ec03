// The sizes that exist. A request may name both members or one of them; the other follows.
import type { Problem } from './problem.ts'

export type Size = { cpu_millis: number; memory_gbs: number } | 'shared'

export const sizes = [
  { cpu_millis: 500, memory_gbs: 2 },
  { cpu_millis: 1000, memory_gbs: 4 },
  { cpu_millis: 2000, memory_gbs: 8 },
  { cpu_millis: 4000, memory_gbs: 16 },
  { cpu_millis: 8000, memory_gbs: 32 },
  { cpu_millis: 16000, memory_gbs: 64 },
  { cpu_millis: 32000, memory_gbs: 128 },
] as const

export const default_size: Size = sizes[0]

/** As callers send it: numbers, or their digits as text. */
export type SizeInput = { cpu_millis?: string | number | undefined; memory_gbs?: string | number | undefined }

/** The size that the input names; undefined when it names none that exists. Nothing given: `otherwise`. */
export function parseSize(input: SizeInput, otherwise: Size, allow_shared: boolean): Size | undefined {
  const [cpu_millis, memory_gbs] = [input.cpu_millis?.toString(), input.memory_gbs?.toString()]
  if (cpu_millis === undefined && memory_gbs === undefined) return otherwise
  if (cpu_millis === 'shared' || memory_gbs === 'shared') {
    const both = (cpu_millis ?? 'shared') === 'shared' && (memory_gbs ?? 'shared') === 'shared'
    return both && allow_shared ? 'shared' : undefined
  }
  return sizes.find(
    (size) =>
      (cpu_millis === undefined || cpu_millis === String(size.cpu_millis)) &&
      (memory_gbs === undefined || memory_gbs === String(size.memory_gbs)),
  )
}

/** Of an input that names no size. Where it has both members, the problem is told of the first and names the other. */
export function sizeProblem({ cpu_millis, memory_gbs }: SizeInput, allow_shared: boolean): Problem {
  const known = `the sizes are ${sizesInWords(allow_shared)} (cpu_millis/memory_gbs)`
  if (cpu_millis === undefined) return { path: '/memory_gbs', message: `is not that of a size; ${known}` }
  if (memory_gbs === undefined) return { path: '/cpu_millis', message: `is not that of a size; ${known}` }
  return { path: '/cpu_millis', message: `is no size together with /memory_gbs; ${known}` }
}

/** For messages: `500/2, 1000/4, …`. */
function sizesInWords(allow_shared: boolean): string {
  const pairs = sizes.map((size) => `${size.cpu_millis}/${size.memory_gbs}`)
  return (allow_shared ? [...pairs, 'shared/shared'] : pairs).join(', ')
}
