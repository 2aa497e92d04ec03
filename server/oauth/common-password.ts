// Passwords that are guessed first: a common stem, or the user's own e-mail, with what people add to it; walks on the
// keyboard, counts and dates. The additions are undone and the rest is looked up, so a short list covers very many.
// Pure, but for reading the list when it is first needed.
import { readFileSync } from 'node:fs'
import { lazily } from '../http/lazily.ts'

/** Whether the password is one of the first that are tried against this user. */
export function isCommonPassword(password: string, email: string): boolean {
  const text = password.normalize('NFKC').toLowerCase()
  if (isPeriodic(text) || date_form.test(text)) return true
  const own = ownStems(email)
  const forms = [...formsOf(text)]
  return forms.some((form) => isWalk(form) || isStem(form) || own.has(form))
}

const date_form = /^\d{1,4}[-./ ]+\d{1,2}[-./ ]+\d{1,4}$/
/** A unit so short is no word, however often it stands there. */
const unit_characters_max = 4
const frequent_together_max = 3
/** What is longer, and not just the same again and again, is not guessed first; and to analyse it would take long. */
const form_characters_max = 64
/** No stem and no row of a keyboard is longer. */
const piece_characters_max = 36

/** What the text may have been made from. */
function formsOf(text: string): Set<string> {
  const bare = [text, text.replace(/^[^\p{L}]+/u, ''), text.replace(/[^\p{L}]+$/u, '')]
  bare.push(bare[2]?.replace(/^[^\p{L}]+/u, '') ?? '')
  const read = bare.flatMap((form) => [form, ...leet_alphabets.map((alphabet) => withoutLeet(form, alphabet))])
  const plain = read.map(compact).flatMap((form) => [form, unitOf(form)])
  // A doubled text may have had its digits within the half.
  const forms = plain.flatMap((form) => [form, withoutDigits(form), unitOf(withoutDigits(form))])
  return new Set(forms.filter((form) => form !== '' && form.length <= form_characters_max))
}

const leet_letters = {
  '@': 'a',
  '4': 'a',
  '8': 'b',
  '(': 'c',
  '3': 'e',
  '9': 'g',
  '0': 'o',
  $: 's',
  '5': 's',
  '7': 't',
  '+': 't',
  '2': 'z',
}
const leet_alphabets: readonly Readonly<Record<string, string>>[] = [
  { ...leet_letters, '1': 'i', '!': 'i', '|': 'i' },
  { ...leet_letters, '1': 'l', '!': 'l', '|': 'l' },
]

function withoutLeet(text: string, alphabet: Readonly<Record<string, string>>): string {
  return Array.from(text, (character) => alphabet[character] ?? character).join('')
}

const compact = (text: string) => text.replaceAll(/[^\p{L}\p{N}]/gu, '')
const withoutDigits = (text: string) => text.replaceAll(/^\p{N}+|\p{N}+$/gu, '')

/** The shortest text of which this one is made by repeating; a last one may be cut off. */
function unitOf(text: string): string {
  for (let length = 1; length <= text.length / 2; length += 1) {
    if (text.slice(length) === text.slice(0, -length)) return text.slice(0, length)
  }
  return text
}

function isPeriodic(text: string): boolean {
  const unit = unitOf(text)
  return unit.length <= unit_characters_max && unit.length < text.length
}

/** The e-mail as it is, its name, and the name without digits. */
function ownStems(email: string): Set<string> {
  const whole = email.normalize('NFKC').toLowerCase().trim()
  const name = compact(whole.split('@')[0] ?? '')
  return new Set([compact(whole), name, withoutDigits(name)].filter((stem) => stem !== ''))
}

type Stems = { all: ReadonlySet<string>; frequent: ReadonlySet<string> }

const stems = lazily((): Stems => {
  const text = readFileSync(new URL('./common-passwords.txt', import.meta.url), 'utf8').replaceAll(/^#.*$/gm, '')
  const groups = text.split(/^\[(.+)\]$/m)
  const wordsOf = (group: string) => group.split(/\s+/).filter((word) => word !== '')
  const frequent = wordsOf(groups[groups.indexOf('frequent') + 1] ?? '')
  return { all: new Set(groups.flatMap(wordsOf)), frequent: new Set(frequent) }
})

function isStem(form: string): boolean {
  const { all, frequent } = stems()
  return all.has(form) || piecesOf(form, (piece) => frequent.has(piece)) <= frequent_together_max
}

/** Along rows and columns of keyboards, forwards and backwards; the same character again; years. */
function isWalk(form: string): boolean {
  return piecesOf(form, (piece) => runs().has(piece) || same_form.test(piece) || year_form.test(piece)) < Infinity
}

const same_form = /^(.)\1+$/u
const year_form = /^(?:19|20)\d\d$/
const run_characters_min = 3
const rows = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890',
  'qwertyuiop',
  'qwertzuiop',
  'azertyuiop',
  'asdfghjkl',
  'qsdfghjklm',
  'zxcvbnm',
  'yxcvbnm',
  'wxcvbn',
  '1q2w3e4r5t6y7u8i9o0p',
  'qawsedrftgyhujikolp',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p',
  'qazwsxedcrfvtgbyhnujmikolp',
  '1qay2wsx3edc4rfv5tgb6zhn7ujm8ik9ol0p',
]

const runs = lazily((): ReadonlySet<string> => {
  const both = rows.flatMap((row) => [row, Array.from(row).toReversed().join('')])
  return new Set(both.flatMap((row) => partsOf(row)))
})

function partsOf(row: string): string[] {
  return Array.from({ length: row.length }, (_, from) =>
    Array.from({ length: row.length - from }, (_, more) => row.slice(from, from + more + 1)),
  )
    .flat()
    .filter((part) => part.length >= run_characters_min)
}

/** The least number of such pieces that make up the whole text; Infinity where none do. */
function piecesOf(text: string, isPiece: (piece: string) => boolean): number {
  const least = [0]
  for (let end = 1; end <= text.length; end += 1) {
    let count = Infinity
    for (let from = Math.max(0, end - piece_characters_max); from < end; from += 1) {
      const before = least[from] ?? Infinity
      if (before + 1 < count && isPiece(text.slice(from, end))) count = before + 1
    }
    least.push(count)
  }
  return least.at(-1) ?? Infinity
}
