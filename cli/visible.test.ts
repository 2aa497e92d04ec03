// Texts of a tenant at a terminal.
import { expect, test } from 'vitest'
import { visible, visibleAt } from './visible.ts'

test.each([
  ['a sequence that clears the screen', '\u001b[2Jgone', String.raw`\u001b[2Jgone`],
  ['the same in one character', '\u009b2Jgone', String.raw`\u009b2Jgone`],
  ['a title for the window', '\u001b]0;title\u0007', String.raw`\u001b]0;title\u0007`],
  ['a colour that hides', '\u001b[8mhidden\u001b[30m', String.raw`\u001b[8mhidden\u001b[30m`],
  ['a line over the one before', 'all is well\rfailed', String.raw`all is well\u000dfailed`],
  ['words that are turned round', 'abc\u202ecba\u2066', String.raw`abc\u202ecba\u2066`],
])('%s is shown, not sent', (_, text, shown) => {
  expect(visible(text)).toBe(shown)
})

test('lines, tabs, colours of a status, and letters and signs of all scripts stay', () => {
  const text = 'one\n\ttwo \u001b[32mREADY\u001b[0m é 漢 👩‍👧 …'
  expect(visible(text)).toBe(text)
})

test('JSON stays JSON, and a pipe gets the text as it is', () => {
  const text = 'a\u009b\u202e\u0007'
  expect(JSON.parse(visible(JSON.stringify(text)))).toBe(text)
  expect(visibleAt({ isTTY: false }, text)).toBe(text)
  expect(visibleAt({ isTTY: true }, text)).not.toBe(text)
})
