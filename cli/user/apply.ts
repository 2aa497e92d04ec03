// howdah apply -f: plan, ask, converge. A run that was interrupted is run again: the plan is then what is left to do.
import { api, type EndpointName } from '#contract/api.ts'
import type { Endpoint } from '#contract/endpoint.ts'
import { followedPlace } from '#contract/follow.ts'
import { newKey } from '#contract/retry.ts'
import type { Service } from '#contract/service.ts'
import { exit_codes } from '../command.ts'
import { parseWanted, planOf, type Step } from './apply-plan.ts'
import { type Context, projectOf } from './context.ts'
import { anyCall } from './ids.ts'
import { jsonFrom } from './member.ts'
import { keepPassword } from './password.ts'
import type { Session } from './session.ts'
import { confirm } from './terminal.ts'
import { waitUntilAtRest } from './waiting.ts'

const timeout_ms = 30 * 60_000

export async function runApply(context: Context): Promise<number> {
  const { input, terminal } = context
  const file = input.need('file')
  const wanted = parseWanted(jsonFrom(file, file === '-' ? '-' : `@${file}`))
  const session = await context.session()
  const { client } = session
  const project_id = await projectOf(context, session)
  const [services, vpcs] = await Promise.all([
    client.listServices({ project_id }),
    wanted.vpcs.length === 0 ? [] : client.listVpcs({ project_id }),
  ])
  const plan = planOf(wanted, services, vpcs, input.isSet('prune'))
  if (plan.length === 0) {
    terminal.say('Everything is as the file says.')
    return exit_codes.done
  }
  terminal.print(plan.map(({ line }) => line).join('\n'))
  if (input.isSet('plan-only')) return exit_codes.not_as_wanted
  const risky = plan.filter(({ is_risky }) => is_risky).length
  const question = `${plan.length} changes${risky === 0 ? '' : `, ${risky} of which interrupt or delete`}. Do it?`
  await confirm(terminal, input, question)
  for (const step of plan) {
    const exit_code = await carryOut(context, session, project_id, step)
    if (exit_code !== exit_codes.done) return exit_code
  }
  return exit_codes.done
}

async function carryOut(context: Context, session: Session, project_id: string, step: Step): Promise<number> {
  const [name, request, wants_pooler] = requestOf(step)
  const endpoint: Endpoint = api[name]
  const ids = { project_id, ...('service_id' in step && { service_id: step.service_id }) }
  const answer = await anyCall(session.client, name)({ ...ids, ...request })
  if (step.kind === 'create') await keepPassword(context, session, answer as Service)
  const place = followedPlace(endpoint, ids, answer)
  const waited = place && (await waitUntilAtRest(context, session, place, endpoint, timeout_ms))
  if (wants_pooler && place !== undefined) {
    await session.client.enablePooler({ project_id, service_id: place.service_id })
  }
  return waited?.exit_code ?? exit_codes.done
}

/** The endpoint of a step, what it is sent, and whether a pooler comes after it. */
function requestOf(step: Step): [name: EndpointName, request: object, wants_pooler?: boolean] {
  switch (step.kind) {
    case 'create_vpc':
      return ['createVpc', { body: step.vpc }]
    case 'create': {
      const { pooler = false, ...body } = step.service
      return ['createService', { body, idempotency_key: newKey() }, pooler]
    }
    case 'resize':
      return ['resizeService', { body: step.size }]
    case 'environment':
      return ['setEnvironment', { body: { environment: step.environment } }]
    case 'ha':
      return ['setHA', { body: { replica_count: step.replica_count, sync_replica_count: step.sync_replica_count } }]
    case 'pooler':
      return [step.is_on ? 'enablePooler' : 'disablePooler', {}]
    case 'delete':
      return ['deleteService', {}]
  }
}
