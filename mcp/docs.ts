// The documentation by topic: each section of the README, by its title.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

const readme = join(import.meta.dirname, '..', 'README.md')

export async function readDocs(): Promise<ReadonlyMap<string, string>> {
  const sections = (await readFile(readme, 'utf8')).split(/^(?=## )/m).slice(1)
  return new Map(sections.map((section) => [topicOf(section), section]))
}

const topicOf = (section: string) =>
  (section.split('\n')[0] ?? '')
    .slice(3)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
