// How many columns of a terminal a text takes. A letter of East Asia and an emoji take two, a mark above a letter none; what a terminal
// makes of sequences joined to one emoji differs, and is not told here. Pure.

const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u
const without_width = /[\p{Mn}\p{Me}\p{Cf}]/u

export function widthOf(text: string): number {
  let width = 0
  for (const char of text) width += charWidth(char)
  return width
}

export const padTo = (text: string, width: number) => text + ' '.repeat(Math.max(0, width - widthOf(text)))

/** At most so many columns of it. */
export function cutTo(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let cut = ''
  let left = width - 1
  for (const char of text) {
    left -= charWidth(char)
    if (left < 0) break
    cut += char
  }
  return `${cut}…`
}

function charWidth(char: string): number {
  if (without_width.test(char)) return 0
  return wide.test(char) ? 2 : 1
}
