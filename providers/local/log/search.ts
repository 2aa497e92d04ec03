// A search of the log, in three steps. Pure. `mayBeIn` skips bytes that lack one of the letters; `pattern` finds, in raw
// bytes read as Latin-1, every line that can hold a matching entry, so that no other line is parsed; `accepts` decides
// on the parsed entry, without its passwords.
// A caller chooses the terms and a tenant the lines: the pattern takes time in proportion to the bytes, whatever both are.
import { isAscii } from 'node:buffer'
import type { LogFilter } from '../../log.ts'
import { type ParsedEntry, text_labels } from '../../postgres/log-entry.ts'
import { masked } from '../../postgres/log-mask.ts'
import { foldCase, newMatch } from '../../postgres/log-match.ts'

export type Search = {
  /** Whether these bytes have the term, or every letter of it: three times as fast as the pattern. */
  mayBeIn(bytes: Buffer): boolean
  /** Undefined: any line may match. */
  pattern: RegExp | undefined
  accepts(entry: ParsedEntry): boolean
}

export function newSearch({ search, severities, process_id }: LogFilter): Search {
  const terms = search.map(foldCase).filter((term) => term !== '')
  // The longest term is the rarest.
  const [form] = terms.flatMap(formOf).toSorted((a, b) => b.length - a.length)
  const of_process = process_id === undefined ? [] : [`"pid":${process_id}`]
  const of_severities = severities.map((severity) => `"error_severity":${JSON.stringify(severity)}`)
  // One process writes less than a severity has.
  const members = of_process.length > 0 ? of_process : of_severities
  const hasLetters = newLetterCheck(terms.map(coreOf))
  const hasMember = (bytes: Buffer) => members.length === 0 || members.some((member) => bytes.includes(member))
  return {
    mayBeIn: (bytes) => (form === undefined ? hasMember(bytes) : hasLetters(bytes)),
    pattern: form === undefined ? memberPattern(members) : new RegExp(form, 'gi'),
    accepts: newMatch({ search, severities, process_id }),
  }
}

function memberPattern(members: readonly string[]): RegExp | undefined {
  return members.length > 0 ? new RegExp(members.map(escaped).join('|'), 'g') : undefined
}

/** Of texts that the log must hold, each in any case. */
function newLetterCheck(texts: readonly string[]): (bytes: Buffer) => boolean {
  const characters = new Set(texts.flatMap((text) => Array.from(inJson(text))))
  const in_ascii = [...characters].filter((one) => one <= '\u007f' && !(one in others_of))
  const letters = in_ascii.map((one) => [one, one.toUpperCase()].map((letter) => letter.charCodeAt(0)))
  const beyond_ascii = [...characters].some((one) => one > '\u007f')
  return (bytes) =>
    !(beyond_ascii && isAscii(bytes)) && letters.every((cases) => cases.some((letter) => bytes.includes(letter)))
}

/** Texts that an entry has and the log has not. */
const inserted_texts = [...Object.values(text_labels), masked].map(foldCase)

/** The pattern of a term's lines; none when it can be in any line. */
function formOf(term: string): string[] {
  const core = coreOf(term)
  if (core !== '') return [literal(core)]
  // Part of a label: it is in the log itself, or the log has a labelled text.
  if (foldCase(masked).includes(term)) return []
  const labelled = Object.entries(text_labels).filter(([, label]) => foldCase(label).includes(term))
  if (labelled.length === 0) return []
  return [[literal(term), ...labelled.map(([field]) => `"${field}":"`)].join('|')]
}

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

/** A longer literal finds nothing sooner, and may be compared with as many bytes at every position. */
const literal_chars_max = 32
/** Where each character of a term has other bytes in another case, all that is known is that it is not ASCII. */
const no_ascii = String.raw`[\x80-\xff]`

/** The bytes of a folded text as it stands in JSON, in any case: the longest part of it whose bytes are known. */
function literal(text: string): string {
  let [longest, longest_chars, form, chars] = [no_ascii, 0, '', 0]
  for (const character of inJson(text)) {
    const bytes = bytesOf(character)
    if (bytes === undefined) {
      ;[form, chars] = ['', 0]
      continue
    }
    ;[form, chars] = [form + bytes, chars + 1]
    if (chars > longest_chars && chars <= literal_chars_max) [longest, longest_chars] = [form, chars]
  }
  return longest
}

/** The Kelvin sign and the dotted capital I are another case of ASCII letters, and outside ASCII. */
const others_of: Record<string, string> = { k: String.raw`(?:k|\xe2\x84\xaa)`, i: String.raw`[i\xc4]` }

const escaped = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)
const inJson = (text: string) => JSON.stringify(text).slice(1, -1)

/** Undefined where another case has other bytes. */
function bytesOf(character: string): string | undefined {
  if (character <= '\u007f') return others_of[character] ?? escaped(character)
  // The dot of that I, and the replacement character for bytes that are no text.
  if (character === '\u0307' || character === '\ufffd') return undefined
  const has_case = character.toUpperCase() !== character || foldCase(character) !== character
  return has_case ? undefined : Buffer.from(character).toString('latin1')
}
