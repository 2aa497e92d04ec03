// New ids for projects, services and installations: ten characters of a–z and 0–9, random, never reused.
import { randomInt } from 'node:crypto'

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789'
const id_characters = 10

export const id_form = /^[a-z0-9]{10}$/

export function newId(): string {
  // randomInt draws without bias; a remainder of random bytes would favour the first letters.
  return Array.from({ length: id_characters }, () => alphabet.charAt(randomInt(alphabet.length))).join('')
}
