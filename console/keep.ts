// The few choices that a browser keeps: how pages look, and which project was last open. Never anything secret.

const names = ['theme', 'density', 'project', 'clock', 'keys'] as const
export type KeptName = (typeof names)[number]

export function kept(name: KeptName): string | undefined {
  try {
    return localStorage.getItem(`howdah.${name}`) ?? undefined
  } catch {
    return undefined
  }
}

export function keep(name: KeptName, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(`howdah.${name}`)
    else localStorage.setItem(`howdah.${name}`, value)
  } catch {
    // A browser without storage forgets it.
  }
}
