// A fork into another region. Its parent lets in a role of the fork's own for as long as the fork is made, and the other region reads the
// parent as that role. Nothing of it is stored: which copies are let in follows from the forks that have no data yet, and the role's
// password from the installation's secret. So a crash leaves nothing that the next pass over the two does not finish or take back.
import type { Problem } from '#contract/problem.ts'
import { copyRoleOf } from '#providers/postgres/names.ts'
import type { RegionFacts, WantedCopy, WantedService } from '#providers/provider.ts'
import { endpointOf } from '../address.ts'
import { getProvider } from '../regions.ts'
import type { Secret } from '../secret.ts'
import type { ServiceContext } from './context.ts'
import { listForksAcross } from './copies.ts'
import { newVerifier, password_bytes, salt_bytes } from './password.ts'
import { findService, type ServiceRow } from './store.ts'

/** From here on databases sort by PostgreSQL's own rules, not by those of the system, which may be another one there. */
const first_major = 17

type Regions = {
  parent: Pick<ServiceRow, 'postgres_version' | 'power' | 'vpc_id'>
  from: Pick<RegionFacts, 'forks_out'>
  into: Pick<RegionFacts, 'forks_in' | 'postgres_versions'>
  /** The other one. */
  region_code: string
}

/** Pure. */
export function acrossProblems(
  { fork_strategy, mask }: { fork_strategy: string; mask?: string | undefined },
  { parent, from, into, region_code }: Regions,
): Problem[] {
  const lacks = [from.forks_out, into.forks_in].flatMap((one) => (one.offered ? [] : one.reason))
  const major = majorOf(parent)
  const versions = into.postgres_versions.join(' and ')
  if (major !== undefined && (major < first_major || !into.postgres_versions.some((one) => majorIn(one) === major)))
    lacks.push(
      `the service has PostgreSQL ${major} and region ${region_code} has ${versions || 'none'}: files are copied between the same major versions only, from ${first_major} on; move it with pg_dump`,
    )
  if (parent.power === 'off') lacks.push('a paused service cannot be copied into another region; start it first')
  if (parent.vpc_id !== null)
    lacks.push('a service in a VPC is not reached from another region; detach it from the VPC first')
  return [
    ...lacks.map((message) => ({ path: '/region_code', message })),
    ...(fork_strategy === 'NOW' ? [] : [{ path: '/fork_strategy', message: only_now }]),
    ...(mask === undefined ? [] : [{ path: '/mask', message: 'does not go with the region_code of another region' }]),
  ]
}

const only_now = 'must be NOW with the region_code of another region, which has no snapshots of the service'

/** What a pass adds to what is wanted: whom a parent lets in, and where a fork is read from. */
export async function acrossOf(
  context: ServiceContext,
  row: ServiceRow,
  wanted: WantedService,
): Promise<Pick<WantedService, 'copies' | 'source'>> {
  const { db, secret } = context
  const { source } = wanted
  const copies = await listForksAcross(db, row)
  const parent = source && !wanted.made && !wanted.deleted ? await findService(db, source.service_id) : undefined
  return {
    ...(copies.length > 0 && { copies: await Promise.all(copies.map((id) => wantedCopy(secret, id))) }),
    ...(source && {
      source: {
        ...source,
        ...(parent && parent.region_code !== row.region_code && { origin: originOf(context, row, parent) }),
      },
    }),
  }
}

/** A request for a copy raises the generation of its parent: once that is settled, the copy is let in. */
function originOf({ providers, secret }: ServiceContext, { service_id }: ServiceRow, parent: ServiceRow) {
  const { copy_host, ca_pem = '' } = getProvider(providers, parent.region_code).facts()
  const major = majorOf(parent)
  if (parent.power === 'off') return { closed: 'its parent must run to be copied' }
  if (parent.vpc_id !== null) return { closed: 'its parent must not be in a VPC to be copied from another region' }
  if (copy_host === undefined) return { closed: `region ${parent.region_code} has no copy_host any more` }
  if (parent.settled_generation < parent.generation || major === undefined) {
    const why = parent.waiting_for === null ? '' : `: ${parent.waiting_for}`
    return { closed: `its parent does not let the copy in yet${why}` }
  }
  const endpoint = { host: copy_host, port: endpointOf(parent, null).port }
  return { endpoint, role: copyRoleOf(service_id), password: copyPassword(secret, service_id), ca_pem, major }
}

const copyPassword = (secret: Secret, copy_id: string): string =>
  secret.derive(Buffer.from(copy_id), 'password of a copy', password_bytes).toString('base64url')

/** The same at each pass, so that a role that is there is known again. */
async function wantedCopy(secret: Secret, copy_id: string): Promise<WantedCopy> {
  const salt = secret.derive(Buffer.from(copy_id), 'salt of a copy', salt_bytes)
  return { copy_id, password_verifier: await newVerifier(copyPassword(secret, copy_id), salt) }
}

const majorIn = (version: string) => Number.parseInt(version, 10)

const majorOf = ({ postgres_version }: Pick<ServiceRow, 'postgres_version'>) =>
  postgres_version === null ? undefined : majorIn(postgres_version)
