// What clients know of their own writes, and what the database says about them. Pure.
// A write is sent, then acknowledged or, when its answer never came, unknown. An acknowledged one must be there exactly
// once, an unknown one at most once, and nothing may be there that was never sent.

export type Write = { writer: number; number: number }
export type Fate = 'sent' | 'acknowledged' | 'unknown'

export type Ledger = {
  send(write: Write): void
  end(write: Write, fate: 'acknowledged' | 'unknown'): void
  count(fate: Fate): number
  /** Of each writer the last write that was acknowledged. */
  latest(): Write[]
  verdictOn(rows: readonly Write[]): Verdict
}

/** All empty when the database has kept its word. */
export type Verdict = { lost: string[]; doubled: string[]; invented: string[] }

/** Rows that a read should have had and has not. */
export function missingIn(seen: readonly Write[], expected: readonly Write[]): string[] {
  const names = new Set(seen.map(nameOf))
  return expected.map(nameOf).filter((name) => !names.has(name))
}

export function newLedger(): Ledger {
  const fates = new Map<string, Fate>()
  const latest = new Map<number, Write>()
  return {
    send: (write) => void fates.set(nameOf(write), 'sent'),
    end(write, fate) {
      fates.set(nameOf(write), fate)
      if (fate === 'acknowledged') latest.set(write.writer, write)
    },
    latest: () => [...latest.values()],
    count: (fate) => [...fates.values()].filter((one) => one === fate).length,
    verdictOn(rows) {
      const found = new Map<string, number>()
      for (const row of rows) found.set(nameOf(row), (found.get(nameOf(row)) ?? 0) + 1)
      const acknowledged = [...fates].filter(([, fate]) => fate === 'acknowledged').map(([name]) => name)
      return {
        lost: acknowledged.filter((name) => !found.has(name)),
        doubled: [...found].filter(([, times]) => times > 1).map(([name]) => name),
        invented: [...found.keys()].filter((name) => !fates.has(name)),
      }
    },
  }
}

const nameOf = ({ writer, number }: Write) => `${writer}/${number}`
