// The Cookie header that a browser sends. Pure.

/** Every value of the cookies of this name, in their order: browsers send one for each path that fits. */
export function cookieValues(header: string | undefined, name: string): string[] {
  return (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1))
}
