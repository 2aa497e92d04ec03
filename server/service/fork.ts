// Fork a service: like create, with one moment of the parent as its source. The moment is chosen while the parent's row is locked, so
// the snapshots that it may stand on cannot be removed meanwhile.
import type { Static } from 'typebox'
import { api } from '#contract/api.ts'
import { invalidRequest, type Problem } from '#contract/problem.ts'
import type { Service } from '#contract/service.ts'
import type { ForkServiceInput } from '#contract/service-input.ts'
import type { Size } from '#contract/size.ts'
import type { Sql } from '../store/db.ts'
import { newId } from '../id.ts'
import { getProvider, parseRegion, refusedBy, requireOffered } from '../regions.ts'
import { lastSnapshot, restorableOf } from '../snapshot/rules.ts'
import { insertSnapshot, listSnapshots } from '../snapshot/store.ts'
import { type At, getService, lockService, saveChange } from './change.ts'
import { acrossProblems } from './across.ts'
import type { ServiceContext } from './context.ts'
import { parseExpiry } from './expiry-rules.ts'
import { type Chosen, findMade, makeService, type Repeatable } from './make.ts'
import { parseMoment, requireRestorable } from '../moment.ts'
import { parseSizeInput, requireMade, requireStatus, sizeColumnsOf, sizeOf } from './rules.ts'
import { findService, type ServiceRow, type Source } from './store.ts'

type Input = Static<typeof ForkServiceInput>
type Request = { at: At; input: Input; idempotency_key: string | undefined }

export async function forkService(context: ServiceContext, request: Request): Promise<Service> {
  const { at, input } = request
  if (request.idempotency_key !== undefined) {
    const made = await findMade(context, repeatableOf(request, await findService(context.db, at.service_id)))
    if (made !== undefined) return made
  }
  const parent = await getService(context.db, at)
  requireStatus(parent, api.forkService.accepts, new Date())
  requireMade(parent, new Date())
  const problems: Problem[] = []
  const name = (input.name ?? forkName(parent.name)).trim()
  const { size, target_time, expires_at } = parseFork(input, sizeOf(parent), problems)
  const region_code = parseRegion(input.region_code ?? parent.region_code, context.providers, problems)
  const from = getProvider(context.providers, parent.region_code)
  const provider = context.providers.get(region_code) ?? from
  const is_across = provider !== from
  if (is_across)
    problems.push(...acrossProblems(input, { parent, from: from.facts(), into: provider.facts(), region_code }))
  const { snapshots, rewinds } = from.facts()
  if (input.fork_strategy !== 'NOW' && !is_across) requireOffered(snapshots, '/fork_strategy')
  if (input.mask !== undefined && !is_across) requireOffered(rewinds, '/mask')
  const copy = input.fork_strategy === 'NOW' && !is_across ? { copy_of: parent.power } : {}
  problems.push(...refusedBy(provider.service.refusal({ size, extensions: parent.extensions, ...copy })))
  if (problems.length > 0) throw invalidRequest(problems)
  const wanted = {
    name,
    region_code,
    service_type: parent.service_type,
    environment: input.environment_tag ?? 'DEV',
    ...sizeColumnsOf(size),
    extensions: parent.extensions,
    expires_at,
    mask: input.mask ?? null,
  }
  return makeService(context, {
    ...repeatableOf(request, parent),
    provider,
    wanted,
    event: `created as ${name}, a fork of ${parent.service_id} (${input.fork_strategy})`,
    sourceOf: async (tx) =>
      chooseSource(tx, await lockService(tx, at), input, { target_time, is_across, has_snapshots: snapshots.offered }),
  })
}

/** Without the parent's own region, which says nothing: a request with it and one without are the same. */
function repeatableOf({ at, input, idempotency_key }: Request, parent: ServiceRow | undefined): Repeatable {
  const { region_code, ...others } = input
  const said = region_code === parent?.region_code ? others : input
  return { project_id: at.project_id, idempotency_key, request: { ...said, service_id: at.service_id } }
}

/** The parent's name with -fork, within the length that a name may have. */
function forkName(name: string): string {
  return `${Array.from(name).slice(0, 123).join('')}-fork`
}

/** Of the members that are there, beyond their schema. */
export function parseFork(input: Partial<Input>, otherwise: Size, problems: Problem[]) {
  return {
    size: parseSizeInput(input, { shared: true, otherwise }, problems),
    target_time: parseTarget(input, problems),
    expires_at: parseExpiry(input.expires_at, new Date(), problems, input.environment_tag),
  }
}

function parseTarget(input: Partial<Input>, problems: Problem[]): string | undefined {
  if (input.fork_strategy !== 'PITR') {
    if (input.target_time !== undefined) problems.push(aboutTarget('only goes with /fork_strategy PITR'))
    return undefined
  }
  if (input.target_time === undefined) {
    problems.push(aboutTarget('is required with /fork_strategy PITR'))
    return undefined
  }
  return parseMoment(input.target_time)
}

const aboutTarget = (message: string): Problem => ({ path: '/target_time', message })

type Choice = { target_time: string | undefined; is_across: boolean; has_snapshots: boolean }

async function chooseSource(tx: Sql, parent: ServiceRow, input: Input, choice: Choice): Promise<Chosen> {
  const { target_time, is_across } = choice
  const strategy = input.fork_strategy
  const event = `a fork was asked for: ${sourceInWords(strategy, target_time)}`
  return {
    source: await sourceOf(tx, parent, input, choice),
    // The parent may have a snapshot to finish; a fork NOW copies it by itself, but from another region it must be let in.
    tellParent: () =>
      saveChange(tx, parent, {
        event,
        event_kind: 'forked',
        needs_pass: strategy !== 'NOW',
        ...(is_across && { generation: parent.generation + 1 }),
      }),
  }
}

function sourceInWords(strategy: Input['fork_strategy'], target: string | undefined): string {
  if (strategy === 'NOW') return 'as the service is now'
  return strategy === 'PITR' ? `as the service was at ${target}` : 'of the last snapshot'
}

async function sourceOf(
  tx: Sql,
  parent: ServiceRow,
  input: Input,
  { target_time: target, is_across, has_snapshots }: Choice,
): Promise<Source> {
  const { service_id } = parent
  const now = new Date()
  const strategy = input.fork_strategy
  const source = { source_service_id: service_id, source_project_id: parent.project_id, source_strategy: strategy }
  if (strategy === 'NOW') {
    if (has_snapshots && !is_across) await insertSnapshot(tx, { snapshot_id: newId(), service_id, kind: 'now' })
    return { ...source, source_snapshot_id: null, source_time: now.toISOString() }
  }
  const snapshots = await listSnapshots(tx, service_id)
  if (strategy === 'PITR') {
    requireRestorable(restorableOf(parent, snapshots, now), new Date(target ?? Number.NaN))
    return { ...source, source_snapshot_id: null, source_time: target ?? null }
  }
  const snapshot = lastSnapshot(snapshots)
  if (snapshot === undefined)
    throw invalidRequest([{ path: '/fork_strategy', message: 'the service has no snapshot to fork from; use NOW' }])
  const { snapshot_id, taken_at } = snapshot
  return { ...source, source_snapshot_id: snapshot_id, source_time: taken_at?.toISOString() ?? null }
}
