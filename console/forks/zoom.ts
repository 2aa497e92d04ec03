// Which part of a window of time is shown. Pure.

export type Span = { from: number; until: number }

const factor = 4
/** A closer look shows less than a hand can aim at. */
const shortest_ms = 10_000

export const lengthIn = ({ from, until }: Span) => until - from

export const canZoomIn = (shown: Span) => lengthIn(shown) > shortest_ms

/** A quarter of what is shown, around the moment. */
export function zoomedIn(whole: Span, shown: Span, at: number): Span {
  return around(whole, at, Math.max(shortest_ms, lengthIn(shown) / factor))
}

/** Undefined: the whole window. */
export function zoomedOut(whole: Span, shown: Span, at: number): Span | undefined {
  const length = lengthIn(shown) * factor
  return length >= lengthIn(whole) ? undefined : around(whole, at, length)
}

/** Moved so far that the moment is in it. */
export function reaching(whole: Span, shown: Span, at: number): Span {
  return at >= shown.from && at <= shown.until ? shown : around(whole, at, lengthIn(shown))
}

function around(whole: Span, at: number, wanted: number): Span {
  const length = Math.min(wanted, lengthIn(whole))
  const from = Math.min(Math.max(whole.from, at - length / 2), whole.until - length)
  return { from: Math.round(from), until: Math.round(from + length) }
}
