// What a terminal is sent of texts that others wrote: a tenant chooses the messages of its log, its events and its errors. Pure. What would
// move the cursor, answer for the keyboard or turn the text round is shown as it is written in JSON, not sent. Programs that read a pipe or
// a file get every text as it is.

/** Not the line's end, a tab, and the colours of a status. */
const moving = /\u001b\[(?:0|3[123]|90)m|[^\P{Cc}\n\t]|\p{Bidi_Control}/gu

export function visible(text: string): string {
  return text.replaceAll(moving, (one) =>
    one.length > 1 ? one : `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** The same where the stream is a terminal. */
export function visibleAt(stream: { isTTY?: boolean }, text: string): string {
  return stream.isTTY === true ? visible(text) : text
}

/** The last line of a command that went wrong. */
export function sayError(error: unknown): void {
  console.error(visibleAt(process.stderr, `howdah: ${error instanceof Error ? error.message : String(error)}`))
}
