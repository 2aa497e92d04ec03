// One act on several services that were chosen: a few at a time, with what became of each. What one of them would refuse is told
// before.
import { useState } from 'react'
import { api } from '#contract/api.ts'
import { refusalOf } from '#contract/refusal.ts'
import type { Service } from '#contract/service.ts'
import { useRole } from '../may.ts'
import { count } from '../part/amount.ts'
import { Button } from '../part/button.tsx'
import { Confirm } from '../part/confirm.tsx'
import { layout } from '../part/layout.tsx'
import { useOfflineSince } from '../polling.ts'
import { useAct } from '../query.ts'
import css from './services.module.css'

const at_once_max = 4

type BulkName = 'startService' | 'stopService' | 'makeDev' | 'makeProd' | 'deleteService'
type Outcome = { name: string; text: string; failed: boolean }

const acts: readonly {
  name: BulkName
  endpoint: 'startService' | 'stopService' | 'setEnvironment' | 'deleteService'
  label: string
}[] = [
  { name: 'startService', endpoint: 'startService', label: 'Start' },
  { name: 'stopService', endpoint: 'stopService', label: 'Stop' },
  { name: 'makeDev', endpoint: 'setEnvironment', label: 'Make DEV' },
  { name: 'makeProd', endpoint: 'setEnvironment', label: 'Make PROD' },
  { name: 'deleteService', endpoint: 'deleteService', label: 'Delete' },
]
const said: Readonly<Record<BulkName, string>> = {
  startService: 'is starting',
  stopService: 'is stopping',
  makeDev: 'is DEV',
  makeProd: 'is PROD',
  deleteService: 'is being deleted',
}

export function BulkActs({ services, onDone }: { services: readonly Service[]; onDone: () => void }) {
  const [asked, setAsked] = useState<BulkName>()
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>([])
  const [is_running, setRunning] = useState(false)
  const refuse = useRefusal(services)
  const call = useBulkCall()
  const run = async (name: BulkName) => {
    setAsked(undefined)
    setOutcomes([])
    setRunning(true)
    await inLanes(services, async (service) => {
      const error = await call(name, service)
      const text = error === undefined ? said[name] : error.message
      setOutcomes((before) => [...before, { name: service.name, text, failed: error !== undefined }])
    })
    setRunning(false)
    onDone()
  }
  const is_prod = services.some(({ metadata }) => metadata.environment === 'PROD')
  const needsWord = (name: BulkName) => name === 'deleteService' || (name === 'stopService' && is_prod)
  if (services.length === 0 && outcomes.length === 0) return null
  return (
    <section className={css['bulk']} aria-label="Acts on what is chosen">
      {services.length > 0 && (
        <div className={layout['row']}>
          <span role="status">{count(services.length, 'service')} chosen</span>
          {acts.map(({ name, endpoint, label }) => (
            <Button
              key={name}
              small
              kind={name === 'deleteService' ? 'danger' : 'plain'}
              reason={refuse(endpoint)}
              pending={is_running}
              onPress={() => (needsWord(name) ? setAsked(name) : void run(name))}
            >
              {label}
            </Button>
          ))}
          <Button small kind="quiet" onPress={onDone}>
            Choose none
          </Button>
        </div>
      )}
      <Outcomes outcomes={outcomes} />
      {asked !== undefined && (
        <Confirm
          confirmation={confirmationOf(asked === 'deleteService', services, is_prod)}
          pending={false}
          error={null}
          onConfirm={() => void run(asked)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </section>
  )
}

const confirmationOf = (deletes: boolean, services: readonly Service[], is_prod: boolean) => ({
  title: `${deletes ? 'Delete' : 'Stop'} ${count(services.length, 'service')}?`,
  button: deletes ? 'Delete them' : 'Stop them',
  danger: deletes,
  lines: [services.map(({ name }) => name).join(', '), 'Open sessions end.'],
  typed: deletes && is_prod ? `delete ${services.length}` : undefined,
})

const Outcomes = ({ outcomes }: { outcomes: readonly Outcome[] }) => (
  <ul aria-label="What became of each">
    {outcomes.map(({ name, text, failed }) => (
      <li key={name} className={failed ? css['failed'] : undefined}>
        <b>{name}</b> {text}
      </li>
    ))}
  </ul>
)

/** Why one of them would refuse it. */
function useRefusal(services: readonly Service[]) {
  const role = useRole(services[0]?.project_id ?? '')
  const offline = useOfflineSince()
  return (name: 'startService' | 'stopService' | 'setEnvironment' | 'deleteService'): string | undefined => {
    if (offline !== undefined) return 'the server cannot be reached'
    const refused = services.find(({ status }) => refusalOf(api[name], { role, status }) !== undefined)
    if (refused !== undefined) return `${refused.name}: ${refusalOf(api[name], { role, status: refused.status })}`
    const kept = name === 'deleteService' && services.find((service) => service.protected)
    return kept ? `${kept.name} is protected from deletion` : undefined
  }
}

function useBulkCall() {
  const [start, stop, remove] = [useAct('startService'), useAct('stopService'), useAct('deleteService')]
  const tag = useAct('setEnvironment')
  return async (name: BulkName, { project_id, service_id }: Service): Promise<Error | undefined> => {
    const at = { project_id, service_id }
    const calls: Record<BulkName, () => Promise<unknown>> = {
      startService: () => start.mutateAsync(at),
      stopService: () => stop.mutateAsync(at),
      deleteService: () => remove.mutateAsync(at),
      makeDev: () => tag.mutateAsync({ ...at, body: { environment: 'DEV' } }),
      makeProd: () => tag.mutateAsync({ ...at, body: { environment: 'PROD' } }),
    }
    return await calls[name]().then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
    )
  }
}

async function inLanes(services: readonly Service[], run: (service: Service) => Promise<void>): Promise<void> {
  const left = [...services]
  const lane = async () => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await run(one)
  }
  await Promise.all(Array.from({ length: at_once_max }, lane))
}
