// The ids in paths, as the contract describes them: whether a text has the form of one, and what is said when there is no
// such thing. A malformed id is an unknown one, and says nothing more.
import { isPathIdName, number_pattern, path_ids } from '#contract/id.ts'

/** Of ids that are numbers. */
export const number_form = new RegExp(number_pattern)

const forms = new Map(Object.entries(path_ids).map(([name, { pattern }]) => [name, new RegExp(pattern)]))

export function isPathId(name: string, id: string): boolean {
  return forms.get(name)?.test(id) === true
}

export function unknownPathId(name: string): string {
  return isPathIdName(name) ? path_ids[name].unknown : 'no such thing exists'
}
