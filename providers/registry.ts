// The one list of providers. A region names one of them; everything above knows it by the interface alone. A provider is loaded when
// it is opened: commands that only read the settings need none, and loading is most of their time.
import type { KubernetesOptions } from './kubernetes/kubernetes.ts'
import type { LocalOptions } from './local/local.ts'
import type { MemoryOptions } from './memory/memory.ts'
import type { Provider } from './provider.ts'

const openLocal = async ({ local }: Options) => (await import('./local/local.ts')).openLocalProvider(local)

/** With the installation's own authority, which the local provider keeps: clients verify the servers of all regions alike. */
const openKubernetes = async ({ kubernetes, local }: Options): Promise<Provider> => {
  const [{ openKubernetesProvider }, { parseSettings }, { ensureAuthority }, { foldersOf }] = await Promise.all([
    import('./kubernetes/kubernetes.ts'),
    import('./kubernetes/settings.ts'),
    import('./local/postgres/authority.ts'),
    import('./local/host/layout.ts'),
  ])
  const { members, near, ...options } = kubernetes
  const settings = parseSettings(options.region, members, near)
  const authority = await ensureAuthority(foldersOf(local.directory).authority)
  return await openKubernetesProvider({ ...options, settings, authority })
}

const openers = {
  kubernetes: openKubernetes,
  local: (options: Options): Promise<Provider> => openLocal(options),
  memory: async ({ memory }: Options): Promise<Provider> =>
    (await import('./memory/memory.ts')).openMemoryProvider(memory),
}

export type ProviderName = keyof typeof openers

/** The options of each provider; a provider takes its own. */
export type Options = {
  local: LocalOptions
  memory: MemoryOptions
  kubernetes: Omit<KubernetesOptions, 'settings' | 'authority'> & KubernetesMembers
}

/** Its members of the regions file, as they are there, and the file. */
type KubernetesMembers = { members: Readonly<Record<string, unknown>>; near: string }

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

/** Known without opening it; an open one says so by its facts. */
export const hasDrills = (name: ProviderName): boolean => name === 'local'

type KubernetesRegion = { region: string; installation_id: string | undefined } & KubernetesMembers

/** What keeps a region from working, and what it does not offer, without opening it; undefined: it is on this host, or nowhere. */
export async function examineProvider(
  name: ProviderName,
  { region, installation_id, members, near }: KubernetesRegion,
): Promise<{ lacks: readonly string[]; not_offered: readonly string[] } | undefined> {
  if (name !== 'kubernetes') return undefined
  const [{ examineCell }, { parseSettings }] = await Promise.all([
    import('./kubernetes/doctor.ts'),
    import('./kubernetes/settings.ts'),
  ])
  return await examineCell({ region, installation_id, settings: parseSettings(region, members, near) })
}
