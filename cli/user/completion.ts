// Completion in bash, zsh and fish. The shells ask `howdah __complete` with the words so far, the last of which is being typed; so all
// three know the same, from the rows of the commands. Names and ids come from the server: kept for five seconds, waited for half a second.
import { createHash } from 'node:crypto'
import type { EndpointName } from '#contract/api.ts'
import { isPathIdName, type PathIdName } from '#contract/id.ts'
import { findCommand, namesOf, type Row, UsageError } from '../command.ts'
import { id_words } from './request-of.ts'
import { type Context, projectOf } from './context.ts'
import { cacheFile, findJson, saveText } from './files.ts'
import { anyCall, idOf, type Ids, named_things } from './ids.ts'
import { itemsOf } from './output.ts'
import { listCredentials } from './profile.ts'
import type { Session } from './session.ts'

const kept_ms = 5000
const patience_ms = 500

const scripts: Readonly<Record<string, string>> = {
  // bash puts a word into the line as it is, and runs what a service's name holds: here alone it has to be quoted by hand.
  bash: `_howdah() {
  local one
  COMPREPLY=()
  while IFS= read -r one; do
    COMPREPLY+=("$(printf %q "$one")")
  done < <(howdah __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _howdah howdah`,
  zsh: `#compdef howdah
_howdah() {
  local -a found
  found=(\${(f)"$(howdah __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  compadd -a found
}
compdef _howdah howdah`,
  fish: `complete -c howdah -f -a '(howdah __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'`,
}

export async function runCompletion({ input, terminal }: Context): Promise<void> {
  const shell = input.need('bash|zsh|fish')
  const script = scripts[shell]
  if (script === undefined) throw new UsageError(`howdah completes in ${Object.keys(scripts).join(', ')}`)
  terminal.print(script)
}

/** Those of the candidates that begin like the last word. */
export async function complete(
  words: readonly string[],
  commands: readonly Row[],
  newContext: (words: readonly string[], row: Row) => Context,
): Promise<string[]> {
  const typed = words.at(-1) ?? ''
  const before = words.slice(0, -1)
  const found = findCommand(commands, before)
  const candidates =
    found === undefined
      ? nextWords(commands, before)
      : await within(argumentsOf(found.command, found.rest, typed, newContext))
  return [...new Set(candidates)].filter((one) => one.startsWith(typed)).toSorted()
}

function nextWords(commands: readonly Row[], before: readonly string[]): string[] {
  const names = commands.flatMap(namesOf).map((name) => name.split(' '))
  const fitting = names.filter((name) => before.every((word, index) => name[index] === word))
  return fitting.flatMap((name) => name[before.length] ?? [])
}

async function argumentsOf(
  row: Row,
  rest: readonly string[],
  typed: string,
  newContext: (words: readonly string[], row: Row) => Context,
): Promise<string[]> {
  const options = row.options ?? {}
  const option = options[(rest.at(-1) ?? '').replace(/^--/, '')]
  if (rest.at(-1)?.startsWith('--') === true && option?.value !== undefined && option.value_optional !== true) {
    if (option.choices !== undefined) return [...option.choices]
    return await namesFor((rest.at(-1) ?? '').slice(2), newContext(rest.slice(0, -1), row), [])
  }
  if (typed.startsWith('-')) return Object.keys(options).map((name) => `--${name}`)
  const given = positionalsIn(rest, row)
  const position = row.positionals?.[given.length]
  if (position === undefined) return []
  if (position.name.includes('|')) return position.name.split('|')
  return await namesFor(position.name, newContext(rest, row), given)
}

function positionalsIn(words: readonly string[], { options = {} }: Row): string[] {
  const takesNext = (word: string) =>
    word.startsWith('--') && !word.includes('=') && options[word.slice(2)]?.value !== undefined
  return words.filter((word, index) => !word.startsWith('-') && !takesNext(words[index - 1] ?? ''))
}

/** Of the things that a positional or an option stands for. */
async function namesFor(what: string, context: Context, given: readonly string[]): Promise<string[]> {
  if (what === 'profile') return Object.keys(await listCredentials())
  const name = Object.entries(id_words).find(([, word]) => word === what || `${word}-id` === what)?.[0]
  if (name === undefined || !isPathIdName(name)) return []
  const session = await context.session()
  const above = name === 'project_id' ? {} : await idsAbove(name, context, session, given)
  return await cached([session.api_url, session.profile ?? '', name, JSON.stringify(above)], () =>
    listNames(session, name, above),
  )
}

async function idsAbove(name: PathIdName, context: Context, session: Session, given: readonly string[]): Promise<Ids> {
  const project_id = await projectOf(context, session)
  const parents: Partial<Record<PathIdName, PathIdName>> = {
    replica_set_id: 'service_id',
    snapshot_id: 'service_id',
    peering_id: 'vpc_id',
  }
  const parent = parents[name]
  const word = given[0]
  if (parent === undefined || word === undefined) return { project_id }
  return { project_id, [parent]: await idOf(session.client, parent, word, { project_id }) }
}

const nameless_lists: Partial<Record<PathIdName, EndpointName>> = {
  snapshot_id: 'listSnapshots',
  peering_id: 'listPeerings',
}

async function listNames({ client }: Session, name: PathIdName, above: Ids): Promise<string[]> {
  const thing = named_things[name]
  const list = thing?.list ?? nameless_lists[name]
  if (list === undefined) return []
  const items = itemsOf(await anyCall(client, list)({ ...above })) ?? []
  const keys = [thing?.id ?? 'id', ...(thing?.names ?? [])]
  const values = items.flatMap((item) => keys.map((key) => item[key]))
  return values.filter((value) => typeof value === 'string')
}

async function cached(key: readonly string[], list: () => Promise<string[]>): Promise<string[]> {
  const file = cacheFile(`names-${createHash('sha256').update(key.join('\n')).digest('hex').slice(0, 16)}.json`)
  const known = await findJson(file).catch(() => undefined)
  if (known !== undefined && Date.now() - Number(known['time']) < kept_ms && Array.isArray(known['names'])) {
    return known['names'].map(String)
  }
  const names = await list()
  await saveText(file, JSON.stringify({ time: Date.now(), names }))
  return names
}

/** A shell that waits is worse than no names. */
async function within(names: Promise<string[]>): Promise<string[]> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string[]>((resolve) => {
    timer = setTimeout(resolve, patience_ms, [])
  })
  try {
    return await Promise.race([names.catch(() => []), late])
  } finally {
    clearTimeout(timer)
  }
}
