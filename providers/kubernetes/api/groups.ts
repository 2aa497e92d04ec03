// Objects by the value of one label, so that those of one owner are found among very many. Pure.
import type { Thing } from './kinds.ts'

export function newGroups(label: string) {
  const groups = new Map<string, Map<string, Thing>>()
  const groupOf = ({ metadata }: Thing) => metadata.labels?.[label]
  const remove = (key: string, thing: Thing | undefined): void => {
    const name = thing && groupOf(thing)
    const group = name === undefined ? undefined : groups.get(name)
    group?.delete(key)
    if (name !== undefined && group?.size === 0) groups.delete(name)
  }
  return {
    /** `before`: what had the key until now. */
    replace(key: string, before: Thing | undefined, thing: Thing): void {
      remove(key, before)
      const name = groupOf(thing)
      if (name === undefined) return
      const group = groups.get(name) ?? new Map<string, Thing>()
      groups.set(name, group.set(key, thing))
    },
    remove,
    of: (name: string): Thing[] => [...(groups.get(name)?.values() ?? [])],
  }
}
