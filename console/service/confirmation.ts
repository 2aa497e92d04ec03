// Which acts on a service are confirmed, and with which words: one table. Pure. An act that is not in it needs no question; what
// merely interrupts is asked on PROD only.
import type { Service } from '#contract/service.ts'
import type { Confirmation } from '../part/confirm-dialog.tsx'
import { bytes, count } from '../part/amount.ts'

const interruptions = {
  stopService: ['Stop', 'Stop', 'Open sessions end, and logins fail until it is started again. The data stays.'],
  switchover: ['Change the primary of', 'Switch over', 'Open sessions end; nothing that was committed is lost.'],
  disablePooler: ['Disable the pooler of', 'Disable', 'Sessions through the pooler end. Its port stays reserved.'],
  setHA: ['Take replicas from', 'Apply', 'With fewer of them less is left when a node is lost.'],
  attachToVpc: ['Move into a VPC:', 'Attach', 'Open sessions end. Outside of the VPC it answers no more.'],
  detachFromVpc: ['Take out of its VPC:', 'Detach', 'Open sessions end. It answers at its former endpoint again.'],
} as const

export type Interruption = keyof typeof interruptions
type Confirmed = Interruption | 'startService' | 'deleteService'

export function confirmationOf(name: Confirmed, service: Service): Confirmation | undefined {
  const is_prod = service.metadata.environment === 'PROD'
  if (name === 'deleteService') {
    return {
      title: `Delete ${service.name}?`,
      button: 'Delete it',
      lines: removalLines(service),
      typed: is_prod ? service.name : undefined,
    }
  }
  if (name === 'startService' || !is_prod) return undefined
  const [title, button, line] = interruptions[name]
  return { title: `${title} ${service.name}?`, button, danger: false, lines: [line] }
}

/** What an act that needs no question asks after it went wrong. */
export function failureOf(name: 'startService' | 'stopService' | 'deleteService', service: Service): Confirmation {
  const said = { startService: 'started', stopService: 'stopped', deleteService: 'deleted' }[name]
  return { title: `${service.name} was not ${said}`, button: 'Try again', danger: false, lines: [] }
}

function removalLines(service: Service): string[] {
  const { metrics, vpc_endpoint, read_replica_sets } = service
  const sets = read_replica_sets.length
  return [
    ...(metrics === undefined ? [] : [`${bytes(metrics.storage_mb * 2 ** 20)} of data and WAL go with it.`]),
    'Its snapshots go too, and with them the way back to earlier moments.',
    'Its processes end at once. The list of services shows for how long it can be brought back, where the server keeps deleted ones.',
    ...(service.ha_replicas.replica_count > 0
      ? [`Its ${count(service.ha_replicas.replica_count, 'replica')} too.`]
      : []),
    ...(sets > 0 ? [`Its ${count(sets, 'read replica set')} too.`] : []),
    ...(vpc_endpoint === undefined ? [] : ['Its address in its VPC is free again.']),
    'Forks of it stay: they are services of their own.',
  ]
}
