// Deletion and its undoing: protection, deleted services that are kept, their restoration and their removal for good.
import { Fault, notFound, unknown_deleted_service } from '#contract/fault.ts'
import type { deletion_endpoints, DeletedService } from '#contract/deletion.ts'
import type { Handlers } from '../http/handler.ts'
import type { Sql } from '../store/db.ts'
import { type At, changeService, saveChange } from './change.ts'
import type { ServiceContext } from './context.ts'
import { type DeletedRow, listDeletedServices } from './endings.ts'
import { expiryHandlers } from './expiry.ts'
import { deletionChange, isProtected, purgeChange, restoreChange, unprotectSentence } from './rules.ts'
import { lockDeletedService, type ServiceRow } from './store.ts'
import type { ServiceView } from './view.ts'

type Names = keyof typeof deletion_endpoints | 'deleteService'

export function deletionHandlers(context: ServiceContext, viewOf: ServiceView): Pick<Handlers, Names> {
  const { db, undelete_seconds } = context
  return {
    ...expiryHandlers(context, viewOf),

    setProtection: async ({ params, body }) => {
      const event = body.protected ? 'protection from deletion' : 'no protection from deletion'
      return viewOf(await changeService(context, params, () => ({ protected: body.protected, event })))
    },

    deleteService: async ({ params }) => {
      await changeService(context, params, (row) => {
        if (row.deleted_at === null && isProtected(row)) {
          throw new Fault('CONFLICT', `the service is protected from deletion; ${unprotectSentence(row)}`)
        }
        return { ...deletionChange(row, new Date(), undelete_seconds), event: 'deletion' }
      })
    },

    listDeletedServices: async ({ params }) => (await listDeletedServices(db, params.project_id)).map(deletedView),

    restoreDeletedService: ({ params }) =>
      db.transaction(async (tx) => {
        const row = await lockDeleted(tx, params)
        return viewOf(await saveChange(tx, row, { ...restoreChange(row, new Date()), event: 'restoration' }))
      }),

    purgeDeletedService: ({ params }) =>
      db.transaction(async (tx) => {
        const row = await lockDeleted(tx, params)
        await saveChange(tx, row, { ...purgeChange(row), event: 'removal for good' })
      }),
  }
}

async function lockDeleted(tx: Sql, { project_id, service_id }: At): Promise<ServiceRow> {
  const row = await lockDeletedService(tx, project_id, service_id)
  if (row === undefined) throw notFound(unknown_deleted_service)
  return row
}

function deletedView({ created, deleted_at, kept_until, environment, ...row }: DeletedRow): DeletedService {
  return {
    ...row,
    created: created.toISOString(),
    metadata: { environment },
    deleted_at: deleted_at.toISOString(),
    kept_until: kept_until.toISOString(),
  }
}
