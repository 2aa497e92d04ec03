// The pooler of a service or a replica set: what is to be changed now, and what it lacks. Our own PgBouncer and not the operator's
// Pooler, which has one mode and one name for a database where clients have two.
import { randomBytes } from 'node:crypto'
import { type Probe, probe } from '../../postgres/probe.ts'
import type { Endpoint } from '../../provider.ts'
import type { Thing } from '../api/kinds.ts'
import { type Cell, type Change, isAsSigned } from '../cell.ts'
import { digest_annotation, expiry_annotation, type ServiceNames } from '../names.ts'
import { type Look, named } from '../cluster/look.ts'
import { inProgress, type Lack } from '../cluster/lack.ts'
import { podTrouble } from '../cluster/pod-trouble.ts'
import { deploymentOf, roleSecretOf, type PoolerSpec, poolerServiceOf, settingsNameOf, settingsOf } from './objects.ts'

export type PoolerChanges = { before: Change[]; after: Change[] }

type Has = Pick<Look, 'secrets' | 'services' | 'deployment'>

/** The pooler's role has a password of its own, in PostgreSQL set by the operator. Made once, of chance; none but the poolers know it. */
export function roleSecretChanges(names: ServiceNames, secrets: readonly Thing[]): Change[] {
  const { namespace, pooler: name, labels } = names
  if (named(secrets, name) !== undefined) return []
  const create = roleSecretOf({ namespace, name, labels }, randomBytes(24).toString('base64url'))
  return [{ effect: 'pooler secret: create', create }]
}

type Wanted = Omit<PoolerSpec, 'at' | 'image' | 'replicas'> & { at: Endpoint | undefined; power: 'on' | 'off' }

/** `before`: what must stop before the Cluster does. */
export async function poolerChanges(cell: Cell, { at, power, ...spec }: Wanted, look: Has): Promise<PoolerChanges> {
  const { pooler_image: image } = cell.settings
  if (at === undefined || image === undefined) return { before: [], after: poolerRemoval(look, spec) }
  return await changesFor(cell, { ...spec, at, image, replicas: power === 'on' ? 1 : 0 }, look)
}

async function changesFor({ client }: Pick<Cell, 'client'>, spec: PoolerSpec, look: Has): Promise<PoolerChanges> {
  const { namespace, name } = spec
  const settings = settingsOf(spec, '')
  const [before, after]: [Change[], Change[]] = [[], []]
  if (!isAsSigned(named(look.secrets, settingsNameOf(name)), settings)) {
    const secret = await client.find({ kind: 'Secret', namespace, name: spec.role_secret })
    if (secret === undefined) return { before, after }
    after.push({ effect: 'pooler settings: apply', apply: settingsOf(spec, passwordIn(secret)) })
  }
  const expiry = named(look.secrets, spec.tls)?.metadata.annotations?.[expiry_annotation]
  const deployment = deploymentOf(spec, [settings.metadata.annotations?.[digest_annotation], expiry])
  if (!isAsSigned(look.deployment, deployment)) {
    const stops = spec.replicas === 0 && look.deployment !== undefined
    const place = stops ? before : after
    place.push({ effect: 'pooler: apply', apply: deployment })
  }
  const service = poolerServiceOf(spec)
  if (!isAsSigned(named(look.services, name), service)) after.push({ effect: 'pooler service: apply', apply: service })
  return { before, after }
}

function passwordIn(secret: Thing): string {
  // The form of the kind.
  const data = 'data' in secret ? (secret.data as { password?: string }) : {}
  if (data.password === undefined) throw new Error('the Secret of the pooler has no password')
  return Buffer.from(data.password, 'base64').toString()
}

function poolerRemoval(look: Has, { namespace, name }: Pick<PoolerSpec, 'namespace' | 'name'>): Change[] {
  const removals = (kind: 'Secret' | 'Service', one: string): Change[] =>
    named(kind === 'Secret' ? look.secrets : look.services, one) === undefined
      ? []
      : [{ effect: `pooler ${kind.toLowerCase()}: remove`, remove: { kind, namespace, name: one } }]
  const deployment: Change[] =
    look.deployment === undefined || look.deployment.metadata.deletionTimestamp !== undefined
      ? []
      : [{ effect: 'pooler: remove', remove: { kind: 'Deployment', namespace, name } }]
  return [...deployment, ...removals('Service', name), ...removals('Secret', settingsNameOf(name))]
}

export async function poolerLack(
  { authority }: Pick<Cell, 'authority'>,
  look: Pick<Look, 'deployment' | 'pooler_pods'>,
  wanted: { at: Endpoint; password_verifier: string },
): Promise<Lack | undefined> {
  const starting = startLack(look)
  if (starting !== undefined) return starting
  const { at: endpoint, password_verifier } = wanted
  const probed: Probe = await probe({ endpoint, authority_pem: authority.certificate_pem, password_verifier })
  if (probed.result === 'ok') return undefined
  const reason = probed.result === 'failed' ? probed.reason : 'it does not know the new password yet'
  return { waiting_for: `a login at its pooler fails: ${reason}`, in_progress: true }
}

/** Undefined: it runs. Pure. */
export function startLack({ deployment, pooler_pods }: Pick<Look, 'deployment' | 'pooler_pods'>): Lack | undefined {
  const { status, metadata } = deployment ?? {}
  const is_current = status?.observedGeneration === metadata?.generation
  const is_ready = (status?.readyReplicas ?? 0) > 0 && status?.updatedReplicas === 1 && status?.replicas === 1
  if (deployment !== undefined && is_current && is_ready) return undefined
  return podTrouble(pooler_pods) ?? inProgress('its pooler is starting')
}
