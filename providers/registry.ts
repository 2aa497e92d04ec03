// The one list of providers. A region names one of them; everything above knows it by the interface alone.
import { openLocalProvider, type LocalOptions } from './local/local.ts'
import { openMemoryProvider, type MemoryOptions } from './memory/memory.ts'
import type { Provider } from './provider.ts'

const openers = {
  local: (options: Options): Promise<Provider> => openLocalProvider(options.local),
  memory: async (options: Options): Promise<Provider> => openMemoryProvider(options.memory),
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
  const provider = await openLocalProvider(options.local)
  try {
    await provider.stopAll()
  } finally {
    await provider.close()
  }
}
