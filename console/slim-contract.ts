// The contract as the console needs it: rows of endpoints without what only servers and the documentation read, such as descriptions and
// the schemas of answers. What stays is what the client sends and what a button asks. A plugin of the build.
import { type ESTree, parseSync, type Plugin, Visitor } from 'vite'

const for_others = ['summary', 'description', 'tag', 'output', 'faults']

export function slimContract(): Plugin {
  return {
    name: 'slim-contract',
    enforce: 'pre',
    transform: (code, id) => (/\/contract\/[\w-]+\.ts$/.test(id) ? slimmed(code, id) : undefined),
  }
}

function slimmed(code: string, id: string): string {
  const dropped: { start: number; end: number }[] = []
  new Visitor({
    CallExpression: ({ callee, arguments: [row] }) => {
      if (callee.type !== 'Identifier' || callee.name !== 'endpoint' || row?.type !== 'ObjectExpression') return
      dropped.push(...row.properties.filter(isForOthers))
    },
  }).visit(parseSync(id, code).program)
  // From the end, so that the places before stay where they are. The comma after a member goes with it.
  return dropped
    .toSorted((one, other) => other.start - one.start)
    .reduce((text, { start, end }) => text.slice(0, start) + text.slice(end).replace(/^\s*,/, ''), code)
}

function isForOthers(property: ESTree.ObjectPropertyKind): boolean {
  return property.type === 'Property' && property.key.type === 'Identifier' && for_others.includes(property.key.name)
}
