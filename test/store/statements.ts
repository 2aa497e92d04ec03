// Every sql template of the server, read from the source by the parser of vite, so that there is no list to keep. The text of a
// fragment comes from the modules of a copy of the server, and in that copy the compiler compares columns with rows.
import { cpSync, globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ESTree, parseSync, Visitor } from 'vite'
import type * as SqlModule from '#server/store/sql.ts'

const root = join(import.meta.dirname, '../..')

type Span = { start: number; end: number }
type Hole = Span & {
  /** The first name in it, as of `columns[name]`; undefined for what is computed. */ name: string | undefined
}

export type Template = {
  /** Path and line. */
  place: string
  strings: readonly string[]
  holes: readonly Hole[]
  /** The type argument. */
  row: Span | undefined
}

export type Source = {
  path: string
  text: string
  templates: readonly Template[]
  /** Text that is run but is no template, numbered parameters, fragments that are no constants. */
  wrong: readonly string[]
}

/** One for each choice of fragments. values: the holes that are parameters. */
export type Statement = { template: Template; text: string; values: readonly Hole[] }
export type Described = Statement & { columns: readonly string[] }

export function readSources(): Source[] {
  return globSync('server/**/*.ts', { cwd: root, exclude: ['**/*.test.ts'] }).map((path) =>
    readSource(path, readFileSync(join(root, path), 'utf8')),
  )
}

/** db.ts runs what it is handed, a migration is read from its file, a copy of the store is of whatever tables its catalog names, and a region is asked elsewhere. */
const mayRun = (path: string, asked: string) =>
  ['server/store/db.ts', 'server/backup/metadata.ts', 'server/query/routes.ts'].includes(path) ||
  asked === 'migration.text'

export function readSource(path: string, text: string): Source {
  const { program } = parseSync(path, text)
  const templates: Template[] = []
  const wrong: string[] = []
  const constants = program.body.filter(isConstant)
  const placeOf = ({ start }: Span) => `${path}:${text.slice(0, start).split('\n').length}`
  new Visitor({
    TaggedTemplateExpression: (node) => {
      if (isTagged(node, 'fragment') && !constants.some(({ start, end }) => start < node.start && node.end <= end)) {
        wrong.push(`${placeOf(node)} makes a fragment that is no constant of its module`)
      }
      if (!isTagged(node, 'sql')) return
      const strings = node.quasi.quasis.map(({ value }) => value.cooked ?? value.raw)
      if (strings.some((part) => /\$\d/.test(part))) wrong.push(`${placeOf(node)} numbers a parameter`)
      const holes = node.quasi.expressions.map((hole) => ({ start: hole.start, end: hole.end, name: firstName(hole) }))
      templates.push({ place: placeOf(node), strings, holes, row: node.typeArguments?.params[0] })
    },
    CallExpression: ({ callee, arguments: [asked] }) => {
      if (!text.slice(callee.start, callee.end).endsWith('.query') || asked === undefined) return
      if (isTagged(asked, 'sql') || mayRun(path, text.slice(asked.start, asked.end))) return
      wrong.push(`${placeOf(asked)} runs text that is no sql template`)
    },
  }).visit(program)
  return { path, text, templates, wrong }
}

/** Not a function: a request could be what it is called with. */
function isConstant(node: ESTree.Node): boolean {
  const declared = node.type === 'ExportNamedDeclaration' ? node.declaration : node
  if (declared?.type !== 'VariableDeclaration' || declared.kind !== 'const') return false
  return declared.declarations.every(({ init }) => init !== null && !init.type.includes('Function'))
}

function isTagged(node: ESTree.Node, name: string): boolean {
  return node.type === 'TaggedTemplateExpression' && node.tag.type === 'Identifier' && node.tag.name === name
}

function firstName(hole: ESTree.Expression): string | undefined {
  if (hole.type === 'MemberExpression') return firstName(hole.object)
  return hole.type === 'Identifier' ? hole.name : undefined
}

/** A copy that can be imported, with a server folder of its own; the rest is the project's. */
export function copyServer(directory: string, sources: readonly Source[]): void {
  cpSync(join(root, 'package.json'), join(directory, 'package.json'))
  cpSync(join(root, 'server'), join(directory, 'server'), { recursive: true })
  for (const name of ['console', 'contract', 'mcp', 'providers', 'node_modules'])
    symlinkSync(join(root, name), join(directory, name))
  for (const { path, text, templates } of sources) {
    const names = new Set(templates.flatMap(({ holes }) => holes.flatMap(({ name }) => name ?? [])))
    // Most names belong to a function; the module knows the others.
    const known = [...names].map((name) => `${name}: typeof ${name} === 'undefined' ? undefined : ${name}`)
    writeFileSync(join(directory, path), `${text}\nexport const known_in_holes = { ${known.join(', ')} }\n`)
  }
}

export async function listStatements(directory: string, { path, templates }: Source): Promise<Statement[]> {
  if (templates.length === 0) return []
  // Both files are copyServer's.
  const { sql } = (await import(join(directory, 'server/store/sql.ts'))) as typeof SqlModule
  const { known_in_holes } = (await import(join(directory, path))) as { known_in_holes: Record<string, unknown> }
  const isFragment = (known: unknown): known is SqlModule.Fragment =>
    // A fragment leaves no value behind. The type is a claim: a constant of any kind is tried.
    sql(templateOf(['', '']), known as SqlModule.Value).values.length === 0
  /** Of a constant: itself, or all members that the template can choose from. None for a value. */
  const fragmentsOf = ({ name }: Hole): SqlModule.Fragment[] => {
    const known = name === undefined ? undefined : known_in_holes[name]
    if (isFragment(known)) return [known]
    const choices = typeof known === 'object' && known !== null ? Object.values(known) : []
    return choices.every(isFragment) ? choices : []
  }
  return templates.flatMap((template) => {
    const choices = template.holes.map(fragmentsOf)
    const values = template.holes.filter((_, at) => choices[at]?.length === 0)
    return productOf(choices.map((fragments) => (fragments.length === 0 ? [null] : fragments))).map((holes) => ({
      template,
      text: sql(templateOf(template.strings), ...holes).text,
      values,
    }))
  })
}

const templateOf = (strings: readonly string[]): TemplateStringsArray => Object.assign([...strings], { raw: strings })

function productOf<T>(choices: readonly (readonly T[])[]): T[][] {
  return choices.reduce<T[][]>((made, some) => made.flatMap((first) => some.map((one) => [...first, one])), [[]])
}

/** Refuses a row whose columns are others than those of its statement. */
const exactly = `export type Exactly<Row extends Record<keyof Columns, unknown>, Columns extends Record<keyof Row, unknown>> = Row`

/** Rewrites the copy so that the compiler compares rows with columns, and finds a fragment that was taken for a value. */
export function stateColumns(directory: string, sources: readonly Source[], described: readonly Described[]): void {
  const types = `import('${join(directory, 'server/store/sql.ts')}')`
  for (const { path, text, templates } of sources) {
    const edits = templates.flatMap((template) => {
      const statements = described.filter((statement) => statement.template === template)
      // The statements of one template, which differ in the fragment they choose, have the same columns.
      const lists = new Set(statements.map(({ columns }) => columns.map((column) => `${column}: unknown`).join(', ')))
      const rows = template.row === undefined ? [] : [template.row]
      return [
        ...rows.flatMap((row) => [...lists].flatMap((list) => around(row, `${types}.Exactly<`, `, { ${list} }>`))),
        ...(statements[0]?.values ?? []).flatMap((hole) => around(hole, '(', `) satisfies ${types}.Value`)),
      ]
    })
    const edited = edits
      .toSorted((one, other) => other.at - one.at)
      .reduce((text, edit) => text.slice(0, edit.at) + edit.text + text.slice(edit.at), text)
    writeFileSync(join(directory, path), path === 'server/store/sql.ts' ? `${edited}\n${exactly}\n` : edited)
  }
}

const around = ({ start, end }: Span, before: string, after: string) => [
  { at: start, text: before },
  { at: end, text: after },
]
