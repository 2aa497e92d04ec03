// What a server does by itself: the passes of the queue, services that end by themselves, and events that are removed after a while.
import { nudgeEverything } from './adoption.ts'
import { shutdown_grace_seconds } from './config.ts'
import type { Telemetry } from './metric/telemetry.ts'
import { startEventRetention } from './event-retention.ts'
import { startReconciler } from './reconciler.ts'
import { newReplicaSetReconcile } from './replica-set/reconcile.ts'
import type { ServiceContext } from './service/context.ts'
import { startExpiry } from './service/expiry.ts'
import { newServiceReconcile } from './service/reconcile.ts'
import { newVpcReconcile, nudgeEveryVpc } from './vpc/reconcile.ts'
import { within } from './within.ts'

/** From here on what is wanted is made true. */
export async function startPasses(
  context: ServiceContext,
  telemetry: Telemetry,
  opened: AsyncDisposableStack,
): Promise<void> {
  const reconcile = {
    service: newServiceReconcile(context),
    'replica set': newReplicaSetReconcile(context),
    vpc: newVpcReconcile(context),
  }
  const regions = [...context.providers.keys()]
  const reconciler = startReconciler({ ...context, reconcile, regions, onPass: telemetry.pass })
  opened.defer(() =>
    within(
      shutdown_grace_seconds,
      reconciler.stop(),
      context.log,
      'some passes are unfinished; the next server ends them',
    ),
  )
  const expiry = await startExpiry(context)
  opened.defer(() => expiry.stop())
  const retention = await startEventRetention(context)
  opened.defer(() => retention.stop())
  await nudgeEveryVpc(context)
  await nudgeEverything(context.db, regions)
}
