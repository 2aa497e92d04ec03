// The contract as the console needs it: rows of endpoints without what only servers and the documentation read, such as descriptions and
// schemas. Of the schema of a body it stays that there is one. A plugin of the build, which then finds the schemas unused.
import { type ESTree, parseSync, type Plugin, Visitor } from 'vite'

const for_others = ['summary', 'description', 'tag', 'output', 'faults', 'query']
const emptied = ['body']

/** What makes a schema has no other effect: a schema that is unused is left out. */
const makers = new Set([
  'text',
  'integer',
  'flag',
  'choice',
  'moment',
  'momentInput',
  'momentOrNull',
  'input',
  'duration',
  'numeric',
  'Nodes',
])
const pure = '/* @__PURE__ */ '

type Edit = { start: number; end: number; text: string }

export function slimContract(): Plugin {
  return {
    name: 'slim-contract',
    enforce: 'pre',
    transform: (code, id) => (/\/contract\/[\w-]+\.ts$/.test(id) ? slimmed(code, id) : undefined),
  }
}

function slimmed(code: string, id: string): string {
  const edits: Edit[] = []
  new Visitor({
    CallExpression: ({ start, callee, arguments: [row] }) => {
      if (makesSchema(callee)) edits.push({ start, end: start, text: pure })
      if (callee.type !== 'Identifier' || callee.name !== 'endpoint' || row?.type !== 'ObjectExpression') return
      edits.push(...row.properties.flatMap(editOf))
    },
  }).visit(parseSync(id, code).program)
  const isInside = (one: Edit) =>
    edits.some((other) => other !== one && other.start <= one.start && one.end < other.end)
  // From the end, so that the places before stay where they are. The comma after a member goes with it.
  return edits
    .filter((one) => !isInside(one))
    .toSorted((one, other) => other.start - one.start)
    .reduce((all, { start, end, text }) => {
      const rest = all.slice(end)
      return all.slice(0, start) + text + (text === '' ? rest.replace(/^\s*,/, '') : rest)
    }, code)
}

function makesSchema(callee: ESTree.Expression): boolean {
  if (callee.type === 'Identifier') return makers.has(callee.name)
  return callee.type === 'MemberExpression' && callee.object.type === 'Identifier' && callee.object.name === 'Type'
}

function editOf(property: ESTree.ObjectPropertyKind): Edit[] {
  if (property.type !== 'Property' || property.key.type !== 'Identifier') return []
  const { start, end, key, value } = property
  if (for_others.includes(key.name)) return [{ start, end, text: '' }]
  return emptied.includes(key.name) ? [{ start: value.start, end: value.end, text: '{}' }] : []
}
