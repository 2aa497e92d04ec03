// What a terminal is sent of texts that others wrote: a tenant chooses the messages of its log, its events and its errors. Pure. What would
// move the cursor, answer for the keyboard or turn the text round is shown as it is written in JSON, not sent. Programs that read a pipe or
// a file get every text as it is.

/** Not the end of a line, and no tab. */
const moving = /[^\P{Cc}\n\t]|\p{Bidi_Control}/gu
/** What a status is printed with, behind an escape character. */
const colours = ['[0m', '[31m', '[32m', '[33m', '[90m']

export function visible(text: string): string {
  const isColour = (one: string, at: number) =>
    one === '\u001b' && colours.some((colour) => text.startsWith(colour, at + 1))
  return text.replaceAll(moving, (one, at: number) =>
    isColour(one, at) ? one : `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** The same where the stream is a terminal. */
export function visibleAt(stream: { isTTY?: boolean }, text: string): string {
  return stream.isTTY === true ? visible(text) : text
}

/** What an error says. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
