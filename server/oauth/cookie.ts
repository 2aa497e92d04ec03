// Cookies: as a browser sends them, and as it is given one. Pure.

/** Every value of the cookies of this name, in their order: browsers send one for each path that fits. */
export function cookieValues(header: string | undefined, name: string): string[] {
  return (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1))
}

type Manner = { path: string; origin: string; same_site?: 'Strict' | 'Lax'; seconds?: number }

/** No script reads it. Without `seconds` it ends with the browser. */
export function cookieOf(name: string, value: string, { path, origin, same_site = 'Lax', seconds }: Manner): string {
  const age = seconds === undefined ? '' : `; Max-Age=${seconds}`
  const secure = origin.startsWith('https:') ? '; Secure' : ''
  return `${name}=${value}; Path=${path}${age}; HttpOnly; SameSite=${same_site}${secure}`
}
