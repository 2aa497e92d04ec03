// The handlers of services. Each writes what is wanted, nudges, and answers; nothing here touches a database server.
import { notFound, unknown_service } from '#contract/fault.ts'
import { invalidRequest, type Problem } from '#contract/problem.ts'
import { isUnderWay } from '#contract/service-status.ts'
import type { deletion_endpoints } from '#contract/deletion.ts'
import type { event_endpoints } from '#contract/event.ts'
import type { ha_endpoints } from '#contract/ha.ts'
import type { pooler_endpoints } from '#contract/pooler.ts'
import type { rewind_endpoints } from '#contract/rewind.ts'
import type { Service, service_endpoints } from '#contract/service.ts'
import type { Sql } from '../store/db.ts'
import type { Handlers } from '../http/handler.ts'
import { getProvider, refusedBy } from '../regions.ts'
import { setAsService } from './replica-set-view.ts'
import { findReplicaSet } from './replica-sets.ts'
import { attachmentHandlers } from './attachment.ts'
import { type At, changeService, changeServiceNow, getService } from './change.ts'
import type { ServiceContext } from './context.ts'
import { createService } from './create.ts'
import { deletionHandlers } from './deletion.ts'
import { forkService } from './fork.ts'
import { eventHandlers } from './events.ts'
import { haHandlers } from './ha.ts'
import { pageOfServices } from './page.ts'
import { newVerifier, passwordProblem } from './password.ts'
import { poolerHandlers } from './pooler.ts'
import { rewindHandlers } from './rewind.ts'
import { parseSizeInput, passwordChange, powerChange, shapeChange, sizeColumnsOf } from './rules.ts'
import { findServiceOfProject } from './store.ts'
import { newServiceView, type ServiceView } from './view.ts'

type ServiceEndpointName =
  | keyof typeof service_endpoints
  | keyof typeof event_endpoints
  | keyof typeof ha_endpoints
  | keyof typeof pooler_endpoints
  | keyof typeof deletion_endpoints
  | keyof typeof rewind_endpoints
  | 'attachToVpc'
  | 'detachFromVpc'

export function serviceHandlers(context: ServiceContext): Pick<Handlers, ServiceEndpointName> {
  const { db, settled } = context
  const viewOf = newServiceView(context)
  const read = async (at: At): Promise<Service> => {
    const row = await findServiceOfProject(db, at.project_id, at.service_id)
    return row ? viewOf(row) : await replicaSetAsService(db, at, viewOf)
  }
  return {
    listServices: async ({ params, query }) => {
      const { rows, next_cursor } = await pageOfServices(db, params.project_id, query)
      return { list: rows.map(viewOf), next_cursor }
    },

    getService: async ({ params, wait_seconds }) => {
      if (wait_seconds === 0) return await read(params)
      const isAtRest = ({ status }: Service) => status !== undefined && !isUnderWay(status)
      return await settled.see(params.service_id, () => read(params), isAtRest, wait_seconds * 1000)
    },

    createService: ({ params, body, idempotency_key }) =>
      createService(context, { project_id: params.project_id, input: body, idempotency_key }),

    forkService: ({ params, body, idempotency_key }) =>
      forkService(context, { at: params, input: body, idempotency_key }),

    ...descriptionHandlers(context, viewOf),
    ...powerAndSizeHandlers(context, viewOf),
    ...eventHandlers(context),
    ...deletionHandlers(context, viewOf),
    ...haHandlers(context, viewOf),
    ...poolerHandlers(context),
    ...rewindHandlers(context, viewOf),
    ...attachmentHandlers(context),
    updatePassword: passwordHandler(context),
  }
}

/** A replica set has an id like a service's, and can be read as one. */
async function replicaSetAsService(sql: Sql, { project_id, service_id: id }: At, viewOf: ServiceView) {
  const row = await findReplicaSet(sql, id)
  const service = row && (await findServiceOfProject(sql, project_id, row.service_id))
  if (row === undefined || service === undefined) throw notFound(unknown_service)
  return setAsService(row, service, viewOf(service))
}

/** Changes of words only: no provider has anything to do. */
function descriptionHandlers(
  context: ServiceContext,
  viewOf: ServiceView,
): Pick<Handlers, 'renameService' | 'setEnvironment'> {
  return {
    renameService: async ({ params, body }) => {
      const name = body.name.trim()
      const event = `a rename to ${name}`
      return viewOf(await changeService(context, params, () => ({ name, event })))
    },

    setEnvironment: async ({ params, body: { environment } }) => {
      const event = `the environment ${environment}`
      await changeService(context, params, () => ({ environment, event }))
      return { message: `the environment is ${environment}` }
    },
  }
}

type PowerAndSize = 'startService' | 'stopService' | 'resizeService'

function powerAndSizeHandlers(context: ServiceContext, viewOf: ServiceView): Pick<Handlers, PowerAndSize> {
  const { db, providers } = context
  const turn = async (at: At, power: 'on' | 'off', event: string) =>
    viewOf(await changeService(context, at, (row) => ({ ...powerChange(row, power), event })))
  return {
    startService: ({ params }) => turn(params, 'on', 'a start'),

    stopService: ({ params }) => turn(params, 'off', 'a stop'),

    resizeService: async ({ params, body }) => {
      const problems: Problem[] = []
      const size = parseSizeInput(body, { shared: false }, problems)
      const { region_code } = await getService(db, params)
      problems.push(...refusedBy(getProvider(providers, region_code).service.refusal({ size })))
      if (problems.length > 0) throw invalidRequest(problems)
      const event = `a resize to ${body.cpu_millis} milli-cores and ${body.memory_gbs} GB`
      const columns = sizeColumnsOf(size)
      return viewOf(await changeService(context, params, (row) => ({ ...shapeChange(row, columns), event })))
    },
  }
}

/** A new password holds when the answer is sent. */
function passwordHandler(context: ServiceContext): Handlers['updatePassword'] {
  return async ({ params, body }) => {
    const problem = passwordProblem(body.password)
    if (problem !== undefined) throw invalidRequest([{ path: '/password', message: problem }])
    const verifier = await newVerifier(body.password)
    const event = 'another master password'
    await changeServiceNow(context, params, (row) => ({ ...passwordChange(row, verifier), event }))
  }
}
