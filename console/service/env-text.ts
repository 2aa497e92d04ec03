// Variables as the text of a .env file: one a line. Pure.

export function envText(variables: Readonly<Record<string, string>>): string {
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${quoted(value)}`)
  return `${lines.join('\n')}\n`
}

function quoted(value: string): string {
  return /^[\w.:/=@%+,-]*$/.test(value) ? value : `'${value.replaceAll("'", String.raw`'\''`)}'`
}
