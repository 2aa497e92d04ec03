// Which PostgreSQL a Cluster or an image has. Pure.
import type { Cluster } from '../api/kinds.ts'

/** By the tag of its image where that has one, else the major version alone. */
export function versionOf({ status }: Cluster): string | undefined {
  const { image, majorVersion } = status?.pgDataImageInfo ?? {}
  return majorVersion === undefined ? undefined : imageVersion(image ?? status?.image ?? '', majorVersion)
}

export function imageVersion(image: string, major: number): string {
  const [, version] = /:(\d+(?:\.\d+)?)(?:[^\d.]|$)/.exec(image.replace(/@.*$/, '')) ?? []
  return version?.split('.')[0] === String(major) ? version : String(major)
}

/** With which it was made: it is never upgraded by the way. */
export function majorOf({ spec }: Cluster): number | undefined {
  // The form in which the provider writes it.
  return (spec['imageCatalogRef'] as { major?: number } | undefined)?.major
}
