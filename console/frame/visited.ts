// Where this tab has been: things and pages, without the tabs of a service. In memory only.

const paths_max = 6
/** A service by any of its pages. */
const thing_form = /^(\/projects\/[^/]+\/services\/(?!new$)[^/]+)\/.*$/

let paths: readonly string[] = []

export function noteVisit(path: string): void {
  const thing = path.replace(thing_form, '$1')
  paths = [thing, ...paths.filter((one) => one !== thing)].slice(0, paths_max + 1)
}

/** The last one first, without where it is now. */
export const visited = () => paths.slice(1)
