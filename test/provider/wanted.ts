// What tests want of a provider: a test says what matters to it, and the rest is here. Pure but for the ids.
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import type { Endpoint, WantedReplicaSet, WantedService } from '#providers/provider.ts'
import { newId } from '#server/id.ts'

/** Running, alone, empty, and at home. */
export const wantedAt = (home: Endpoint, parts: Partial<WantedService> = {}): WantedService => ({
  service_id: newId(),
  project_id: 'project000',
  generation: 1,
  deleted: false,
  power: 'on',
  size: { cpu_millis: 500, memory_gbs: 2 },
  extensions: [],
  password_verifier: verifierOf('first password'),
  home,
  reach: home,
  snapshots: [],
  ...parts,
})

/** Of one small node. */
export const wantedSetAt = (
  home: Endpoint,
  service: WantedService,
  parts: Partial<WantedReplicaSet> = {},
): WantedReplicaSet => ({
  replica_set_id: newId(),
  generation: 1,
  deleted: false,
  nodes: 1,
  size: 'shared',
  home,
  reach: home,
  service,
  ...parts,
})

export function verifierOf(password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, 4096, 32, 'sha256')
  const keyed = (text: string) => createHmac('sha256', salted).update(text).digest()
  const stored_key = createHash('sha256').update(keyed('Client Key')).digest('base64')
  return `SCRAM-SHA-256$4096:${salt.toString('base64')}$${stored_key}:${keyed('Server Key').toString('base64')}`
}
