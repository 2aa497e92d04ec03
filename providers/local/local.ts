// The provider that runs PostgreSQL as daemons on this host, below one directory. Opening it observes what the host
// can do; closing it releases everything but the databases, which go on running and are found again by the next server.
import type { Pass, Provider } from '../provider.ts'
import { addressesFor } from './addresses.ts'
import { newBackup } from './backup/backup.ts'
import { openFacts } from './facts.ts'
import type { Node } from './host/layout.ts'
import { closeHost, type LocalHost, type LocalOptions, openHost } from './local-host.ts'
import { readLogs, readLogTail } from './log/logs.ts'
import { newMeter } from './metric/metrics.ts'
import { listVpcs } from './network/network.ts'
import type { PostgresInstallation } from './postgres/installation.ts'
import { removeOldTemplates } from './postgres/template.ts'
import { runQuery } from './query/query.ts'
import { applyInTurn, applySetInTurn, healInTurn } from './service/in-turn.ts'
import { newKinds } from './service/kinds.ts'
import { ensureWrites } from './service/writes.ts'
import { stopAll } from './stop-all.ts'
import { readHostUse } from './vpc/ranges.ts'
import { applyVpc } from './vpc/vpc.ts'

export type { LocalOptions } from './local-host.ts'

export type LocalProvider = Provider & {
  authority_pem: string
  installations: readonly PostgresInstallation[]
  /** Stops every database below the directory, cleanly. */
  stopAll(): Promise<void>
}

export async function openLocalProvider(options: LocalOptions): Promise<LocalProvider> {
  const host_use = readHostUse()
  const host = await openHost(options)
  const facts = await openFacts({ ...host, copy_host: options.copy_host }, host_use)
  const kinds = newKinds(host)
  // A pass may be under way that takes seconds, in which a disk gets full. The next pass repeats what fails here.
  const applyAccess = (node: Node) => ensureWrites(host, node).catch(() => undefined)
  host.disk_space_watch.onChange(applyAccess)
  host.quota_watch.onChange((node) => void applyAccess(node))
  // The first create need not wait for it; the pass that needs the template meets the failure again and reports it.
  const prepared = prepareTemplates(host).catch((error: unknown) =>
    options.log({ err: error }, 'template not prepared'),
  )
  return {
    facts: facts.now,
    authority_pem: host.authority.certificate_pem,
    installations: host.installations,
    addresses: (use) => addressesFor(options, use),
    service: {
      refusal: facts.serviceRefusal,
      apply: (wanted, pass) => applyInTurn(hostFor(host, pass), wanted),
      list: () => kinds.list('service'),
      query: (service_id, spec) => runQuery(host, service_id, spec),
    },
    replica_set: {
      refusal: facts.replicaSetRefusal,
      apply: (wanted, pass) => applySetInTurn(hostFor(host, pass), wanted),
      list: () => kinds.list('replica set'),
    },
    vpc: {
      refusal: ({ cidr }) => facts.rangeRefusal(cidr),
      apply: (wanted, pass) => applyVpc(hostFor(host, pass), wanted),
      list: async () => (await listVpcs(host)).map((id) => ({ id, down: false })),
    },
    heal: (id) => healInTurn(host, id),
    metrics: newMeter(host),
    logs: {
      page: (id, query) => readLogs(host, id, query),
      tail: (id, query) => readLogTail(host, id, query),
    },
    watch: (onNews) => {
      const tell = async (id: string) => onNews(await kinds.of(id), id)
      const onChange = (id: string) => void tell(id)
      host.watch.onChange(onChange)
      host.archive_watch.onStall(onChange)
      host.jobs.onEnd(onChange)
      host.balance_watch.onMissing(onChange)
      host.disk_space_watch.onChange(({ service_id }) => onChange(service_id))
      host.quota_watch.onChange(({ service_id }, is_news) => is_news && onChange(service_id))
      host.vpc_watch.onServiceChange(onChange)
      host.vpc_watch.onChange((vpc_id) => onNews('vpc', vpc_id))
    },
    backup: newBackup(host),
    stopAll: () => stopAll(host),
    close: async () => {
      await Promise.all([facts.close(), closeHost(host)])
      await prepared
    },
  }
}

/** After the pass is aborted no effect begins. */
function hostFor(host: LocalHost, pass: Pass | undefined): LocalHost {
  if (pass === undefined) return host
  const { signal } = pass
  return {
    ...host,
    effect: async (name) => {
      signal.throwIfAborted()
      await host.effect(name)
    },
  }
}

async function prepareTemplates(host: LocalHost): Promise<void> {
  const { effect, directory, installations } = host
  await removeOldTemplates(effect, directory, installations)
  if (installations[0]) await host.template(installations[0])
}
