// The parts of the documentation that follow from the code, each between two marks in its page. `npm run docs` writes them, a test compares.
import { admin_commands, server_commands } from '#cli/operator.ts'
import { user_commands } from '#cli/user/main.ts'
import { settings } from '#server/config.ts'

const code = (text: string) => `\`${text}\``
const row = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n')

/** A sentence is no code. */
const defaultOf = (text: string) => (text === '' ? 'none' : text.includes(' ') ? text : code(text))

const parts: Readonly<Record<string, () => string>> = {
  settings: () =>
    table(
      ['Flag', 'Variable', 'Default', 'What it is'],
      settings.map((setting) => [
        setting.flag === undefined ? 'none' : code(setting.flag),
        code(setting.env),
        defaultOf(setting.default),
        setting.description,
      ]),
    ),
  commands: () =>
    table(
      ['Command', 'What it does'],
      [...user_commands, ...server_commands, ...admin_commands].map(({ name, summary }) => [
        code(`howdah ${name}`),
        summary,
      ]),
    ),
}

/** The page with its generated parts as they ought to be. */
export function withGenerated(text: string): string {
  return text.replaceAll(/(<!-- generated: (\w+) -->\n).*?(<!-- end -->)/gs, (_, begin: string, name: string, end) => {
    const part = parts[name]
    if (part === undefined) throw new Error(`no part is named ${name}; there are ${Object.keys(parts).join(', ')}`)
    return `${begin}\n${part()}\n\n${end}`
  })
}
