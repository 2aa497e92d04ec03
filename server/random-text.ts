// 256 random bits as text, for keys, cookies and links: too many to guess.
import { randomBytes } from 'node:crypto'

export const newRandomText = (): string => randomBytes(32).toString('base64url')

export const random_text_form = /^[\w-]{43}$/
