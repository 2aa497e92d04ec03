// The version of this installation, from the one place where it is written.
import { readFileSync } from 'node:fs'

export const version: string = parseVersion(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

function parseVersion(text: string): string {
  const { version } = JSON.parse(text) as { version: string } // our own package.json
  return version
}
