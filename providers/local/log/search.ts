// What a search looks for, and a piece of it that can be found in the raw bytes of the log before any line is parsed.
// Pure. The piece is a necessary sign: every line whose text matches holds it, in some mixture of cases. Whether a line
// that holds it matches is decided on its parsed text, without passwords.
import { isAscii } from 'node:buffer'
import { text_labels } from './entry.ts'
import { masked } from './mask.ts'

/**
 * Consecutive bytes; a byte b of the log fits when (b | fold) === value. `pair`: the two places to look for, the rarer first;
 * `rare`: whether that one is so rare that it is worth looking for it alone.
 */
export type Sign = { values: Uint8Array; folds: Uint8Array; pair: [number, number]; rare: boolean }

export type Search = {
  /** A line that matches holds one of these; empty when no such thing can be said. */
  signs: Sign[]
  /** Whether some raw bytes may hold a match: for searches that have no sign. */
  mayBeIn: (raw: Buffer) => boolean
  matches: (text: string) => boolean
}

export function newSearch(terms: readonly string[]): Search {
  const folded = terms.map(foldCase).filter((term) => term !== '')
  const cores = folded.map(coreOf).filter((core) => core !== '')
  const longest = cores.map(signOf).toSorted((a, b) => b.values.length - a.values.length)[0]
  const signs =
    longest !== undefined && longest.values.length > 0
      ? [longest]
      : (folded.map(labelSigns).find((some) => some.length > 0) ?? [])
  const foreign = cores.some((core) => !isAscii(Buffer.from(core)))
  return {
    signs,
    mayBeIn: (raw) => {
      // Nothing outside ASCII is only another case of something inside; and whether all is inside is seen at once.
      if (foreign && isAscii(raw)) return false
      const folded_raw = cores.length === 0 ? '' : foldCase(raw.toString())
      return cores.every((core) => folded_raw.includes(escaped(core)))
    },
    matches: (text) => {
      if (folded.length === 0) return true
      const folded_text = foldCase(text)
      return folded.every((term) => folded_text.includes(term))
    },
  }
}

function newSign(values: readonly number[], folds: readonly number[]): Sign {
  const pair = rarePairOf(values)
  const rare = rarityOf(values[pair[0]]) === common_bytes.length
  return { values: Uint8Array.from(values), folds: Uint8Array.from(folds), pair, rare }
}

/** Two texts that differ in case only become equal, in every script; the two small sigmas too. */
function foldCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ')
}

/** What the text of an entry has and the log has not. */
const inserted_texts = [...Object.values(text_labels), masked].map(foldCase)

/** The part of a term that the log itself must hold, wherever the term lies in the text; '' when there is none. */
function coreOf(term: string): string {
  if (inserted_texts.some((inserted) => inserted.includes(term) || term.includes(inserted))) return ''
  let [from, to] = [0, term.length]
  for (const inserted of inserted_texts) {
    for (let length = 1; length <= inserted.length; length += 1) {
      if (term.startsWith(inserted.slice(-length))) from = Math.max(from, length)
      if (term.endsWith(inserted.slice(0, length))) to = Math.min(to, term.length - length)
    }
  }
  return term.slice(from, Math.max(from, to))
}

/** A term that is part of labels is found in lines that have it, or that have what is labelled so. */
function labelSigns(term: string): Sign[] {
  if (foldCase(masked).includes(term)) return []
  const own = signOf(term)
  const labelled = Object.entries(text_labels).filter(([, label]) => foldCase(label).includes(term))
  if (own.values.length === 0 || labelled.length === 0) return []
  return [own, ...labelled.map(([field]) => exactSign(`"${field}":"`))]
}

export function exactSign(text: string): Sign {
  const values = [...Buffer.from(text)]
  return newSign(values, Array<number>(values.length).fill(0))
}

/** As it stands in JSON. */
function escaped(term: string): string {
  return JSON.stringify(term).slice(1, -1)
}

/** The longest part of a term, as it stands in JSON, whose bytes differ between cases by one bit at most. */
function signOf(term: string): Sign {
  let longest = newSign([], [])
  let values: number[] = []
  let folds: number[] = []
  for (const character of [...Array.from(escaped(term)), undefined]) {
    if (character !== undefined && isPlain(character)) {
      const is_letter = /[a-z]/.test(character)
      for (const byte of Buffer.from(character)) {
        values.push(byte)
        folds.push(is_letter ? 0x20 : 0)
      }
      continue
    }
    if (values.length > longest.values.length) longest = newSign(values, folds)
    values = []
    folds = []
  }
  return longest
}

/** ASCII, or without case. Not k and i: the Kelvin sign and the dotted capital I fold to them from outside ASCII. */
function isPlain(character: string): boolean {
  if (character === 'k' || character === 'i') return false
  return character <= '\u007f' || (character.toUpperCase() === character && foldCase(character) === character)
}

/** From the commonest on, as they occur in PostgreSQL's JSON logs; what is not listed is rarer. */
const common_bytes = ' "e_ti:aosrn,dlcpm.0u1h26g5-3f4y89b7vw=xk/()q'

/** Two places of the sign whose bytes are likely to be the rarest, the rarer first. One twice when there is only one. */
function rarePairOf(values: readonly number[]): [number, number] {
  const reachable = Array.from({ length: Math.min(values.length, pair_distance_max) }, (_, place) => place)
  const [first = 0, second = first] = reachable.toSorted((a, b) => rarityOf(values[b]) - rarityOf(values[a]))
  return [first, second]
}

function rarityOf(byte = 0): number {
  const rank = common_bytes.indexOf(String.fromCharCode(byte))
  return rank < 0 ? common_bytes.length : rank
}

const pair_distance_max = 256
