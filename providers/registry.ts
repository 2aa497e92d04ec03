// The one list of providers. A region names one of them; everything above knows it by the interface alone. A provider is loaded when
// it is opened: commands that only read the settings need none, and loading is most of their time.
import type { LocalOptions } from './local/local.ts'
import type { MemoryOptions } from './memory/memory.ts'
import type { Provider } from './provider.ts'

const openLocal = async ({ local }: Options) => (await import('./local/local.ts')).openLocalProvider(local)

const openers = {
  local: (options: Options): Promise<Provider> => openLocal(options),
  memory: async ({ memory }: Options): Promise<Provider> =>
    (await import('./memory/memory.ts')).openMemoryProvider(memory),
}

export type ProviderName = keyof typeof openers

/** The options of each provider; a provider takes its own. */
export type Options = { local: LocalOptions; memory: MemoryOptions }

// The keys of the object above.
export const provider_names = Object.keys(openers) as readonly ProviderName[]

export function openProvider(name: ProviderName, options: Options): Promise<Provider> {
  return openers[name](options)
}

/** Stops everything of a region that runs on this host. Elsewhere nothing runs here. */
export async function stopProvider(name: ProviderName, options: Options): Promise<void> {
  if (name !== 'local') return
  const provider = await openLocal(options)
  try {
    await provider.stopAll()
  } finally {
    await provider.close()
  }
}
