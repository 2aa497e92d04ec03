// howdah apply -f: plan, ask, converge. A run that was interrupted is run again: the plan is then what is left to do.
import { api } from '#contract/api.ts'
import type { Endpoint } from '#contract/endpoint.ts'
import { followedPlace } from '#contract/follow.ts'
import { newKey } from '#contract/retry.ts'
import type { Service } from '#contract/service.ts'
import { exit_codes } from '../command.ts'
import { parseWanted, planOf } from './apply-plan.ts'
import type { Step } from './apply-step.ts'
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
  const known = new Map(services.flatMap((service) => idsOf(service)))
  for (const step of plan) {
    const exit_code = await carryOut(context, session, project_id, step, known)
    if (exit_code !== exit_codes.done) return exit_code
  }
  return exit_codes.done
}

/** Ids by name. */
type Known = Map<string, string>
const setKey = ({ service, replica_set }: Pick<Step, 'service' | 'replica_set'>) => `${service}/${replica_set}`

/** Those that are being deleted have names that are free again. */
function idsOf({ name, service_id, status, read_replica_sets }: Service): [string, string][] {
  if (status === 'DELETING') return []
  const sets = read_replica_sets.filter((set) => set.status !== 'deleting')
  return [
    [name, service_id],
    ...sets.map((set): [string, string] => [setKey({ service: name, replica_set: set.name }), set.id]),
  ]
}

async function carryOut(
  context: Context,
  session: Session,
  project_id: string,
  step: Step,
  known: Known,
): Promise<number> {
  const { service, body } = step
  const endpoint: Endpoint = api[step.endpoint]
  const service_id = known.get(service ?? '')
  const replica_set_id = known.get(setKey(step))
  const ids = { project_id, ...(service_id && { service_id }), ...(replica_set_id && { replica_set_id }) }
  const key = endpoint.idempotent === true ? { idempotency_key: newKey() } : {}
  const answer = await anyCall(session.client, step.endpoint)({ ...ids, ...(body && { body }), ...key })
  if (step.endpoint === 'createService') {
    const { name, initial_password } = answer as Service
    const is_kept = await keepPassword(context, session, answer as Service)
    if (!is_kept) context.terminal.print(`The password of ${name}, told this once: ${initial_password}`)
  }
  const place = followedPlace(endpoint, ids, answer)
  const waited = place && (await waitUntilAtRest(context, session, place, endpoint, timeout_ms))
  if (place && step.endpoint === 'createService') known.set(service ?? '', place.service_id)
  if (place && step.endpoint === 'createReplicaSet') known.set(setKey(step), place.service_id)
  return waited?.exit_code ?? exit_codes.done
}
