// A login as a client makes it: whether the master role can log in right now at the service's endpoint, with the wanted
// password, and what the tenant has done to keep it from that. What this process has observed to hold is checked seldom.
import type { WantedService } from '../../provider.ts'
import { archiveTrouble, ensureArchiveWhole, ensureEndedPassed } from '../wal/archive.ts'
import type { Node } from '../host/layout.ts'
import type { ServiceHost } from './service-host.ts'
import { ensureMasterRole, type ObservedRole } from '../postgres/master-role.ts'
import { findPrimary } from '../postgres/primary.ts'
import type { Postmaster } from '../postgres/process.ts'
import { loginTroubleOf } from '../../postgres/probe.ts'
import { probeAt } from '../network/service-network.ts'
import { setback } from '../../setback.ts'
import type { Observed } from './observed.ts'
import { accessTrouble } from '../quota/access.ts'
import { unlessStill } from '../postgres/standstill.ts'

/** The watches notice a death and a stalled archive; this is for what only a login shows, which costs some CPU. */
const look_again_when_well_seconds = 300
/**
 * A probe goes only as far as the password: that the rest of a login works, which a tenant can change at any time, is checked
 * over a session, and in each routine pass.
 */
const known_ms_max = (look_again_when_well_seconds - 60) * 1000

/** The master role can log in with the wanted password, observed by a client's connection. */
export async function ensureLogin(
  host: ServiceHost,
  node: Node,
  wanted: WantedService,
  postmaster: Postmaster,
): Promise<Observed> {
  const { reach: endpoint, vpc_id, password_verifier } = wanted
  const { service_id } = node
  const trouble = accessTrouble(host, service_id)
  const told = host.quota_watch.takeEvents(service_id)
  if (!host.accessOf(service_id).logins) {
    return { ...setback('not_serving', trouble ?? ''), settled: true, events: told }
  }
  const spec = { endpoint, password_verifier, authority_pem: host.authority.certificate_pem }
  const probed = () => unlessStill(node, (given_up) => probeAt(host, vpc_id, { ...spec, given_up }))
  let role: ObservedRole = { events: [] }
  let login = isKnown(host, wanted, postmaster) ? await probed() : undefined
  if (login?.result !== 'ok') {
    role = await ensureRole(host, node, wanted)
    login = await probed()
    const what = seenOf(wanted, postmaster)
    const { lacks, postgres_version } = role
    host.roles_observed.set(service_id, { what, at_ms: performance.now(), lacks, postgres_version })
  }
  const events = [...told, ...role.events]
  const no_login = loginTroubleOf(login, `${endpoint.host}:${endpoint.port}`)
  if (no_login !== undefined) return { ...setback('not_serving', no_login), events }
  const { lacks, postgres_version } = host.roles_observed.get(service_id) ?? {}
  const stalled = await archiveTrouble(host.effect, node, host.stalls_told)
  const waiting_for = [trouble, stalled, lacks].filter((one) => one !== undefined).join('; ')
  if (host.disk_space_watch.lowSince() || stalled !== undefined) {
    return { ...setback('not_serving', waiting_for), settled: true, events }
  }
  // A full quota is for its users to solve: it serves what they may still do, and can be given another size.
  return {
    state: 'serving',
    settled: true,
    look_again_seconds: look_again_when_well_seconds,
    events,
    ...(postgres_version && { postgres_version }),
    ...(waiting_for !== '' && { waiting_for }),
  }
}

/** Everything that a client finds at its first login. */
async function ensureRole(host: ServiceHost, node: Node, wanted: WantedService): Promise<ObservedRole> {
  const observed = await ensureMasterRole(host.effect, node, wanted)
  if ((await findPrimary(node)).term <= 1) return observed
  await ensureArchiveWhole(host.effect, node)
  await ensureEndedPassed(host.effect, node)
  return observed
}

/** Whether this postmaster was observed, lately, to have all that this generation wants. */
function isKnown({ roles_observed }: ServiceHost, wanted: WantedService, postmaster: Postmaster): boolean {
  const observed = roles_observed.get(wanted.service_id)
  return observed?.what === seenOf(wanted, postmaster) && performance.now() - observed.at_ms < known_ms_max
}

const seenOf = ({ generation, copies = [] }: WantedService, { pid }: Postmaster) =>
  [pid, generation, ...copies.map(({ copy_id }) => copy_id)].join('/')
