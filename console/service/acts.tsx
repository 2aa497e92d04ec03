// Every act on a service, once: header, menu, table and palette show the same list, with the same reasons.
import { useNavigate, useRouter } from '@tanstack/react-router'
import { type ReactElement, useState } from 'react'
import type { Service } from '#contract/service.ts'
import { useMay } from '../may.ts'
import { iconTrigger } from '../part/button.tsx'
import { Confirm } from '../part/confirm.tsx'
import type { Act } from '../part/act.ts'
import { Menu } from '../part/menu.tsx'
import { onDemand } from '../part/on-demand.tsx'
import { toast } from '../part/toast.tsx'
import { paths } from '../paths.ts'
import { useAct } from '../query.ts'
import { confirmationOf, failureOf } from './confirmation.ts'
import { beginRename } from './rename.tsx'

type Simple = 'startService' | 'stopService' | 'deleteService'
type Opened = Simple | 'resizeService' | 'updatePassword' | 'forkService' | undefined

const is_protected = 'the service is protected from deletion; its settings take that back'

type ServiceActs = {
  start: Act
  stop: Act
  fork: Act
  groups: readonly (readonly Act[])[]
  /** The dialog of an act that was chosen. */
  dialog: ReactElement | null
}

export function useServiceActs(service: Service): ServiceActs {
  const [opened, setOpened] = useState<Opened>()
  const may = useMay(service.project_id, service.status)
  const simple = useSimpleActs(service, setOpened)
  const navigate = useNavigate()
  const ask = (name: Exclude<Opened, undefined>, label: string, danger = false): Act => ({
    label,
    danger,
    reason: may(name) ?? (name === 'deleteService' && service.protected ? is_protected : undefined),
    run: () => {
      if (isSimple(name) && confirmationOf(name, service) === undefined) return simple.run(name)
      if (isSimple(name)) simple.acts[name].reset()
      setOpened(name)
    },
  })
  const start = ask('startService', 'Start')
  const stop = ask('stopService', 'Stop')
  const fork = ask('forkService', 'Fork')
  const go = (label: string, tab: 'connect' | 'replicas' | 'network'): Act => ({
    label,
    run: () => void navigate({ to: paths.service(service.project_id, service.service_id, tab) }),
  })
  return {
    start,
    stop,
    fork,
    groups: [
      [go('Connect', 'connect'), fork, service.status === 'PAUSED' ? start : stop],
      [
        { label: 'Rename', reason: may('renameService'), run: () => beginRename(service.service_id) },
        ask('resizeService', 'Resize'),
        ask('updatePassword', 'Set the password'),
        go('Replicas and pooler', 'replicas'),
        go('Network', 'network'),
      ],
      [ask('deleteService', 'Delete', true)],
    ],
    dialog: <ServiceDialog {...{ opened, service, simple }} onOpen={setOpened} />,
  }
}

/** All of them behind a button, in a row of a table. */
export function ServiceMenu({ service }: { service: Service }) {
  const { groups, dialog } = useServiceActs(service)
  return (
    <>
      <Menu trigger={iconTrigger(`Acts on ${service.name}`, { small: true, kind: 'quiet' })} groups={groups} />
      {dialog}
    </>
  )
}

const isSimple = (name: Opened): name is Simple =>
  name === 'startService' || name === 'stopService' || name === 'deleteService'

type SimpleActs = {
  acts: Readonly<Record<Simple, { isPending: boolean; error: Error | null; reset: () => void }>>
  run: (name: Simple) => void
}

function useSimpleActs(service: Service, change: (next: (now: Opened) => Opened) => void): SimpleActs {
  const acts = {
    startService: useAct('startService'),
    stopService: useAct('stopService'),
    deleteService: useAct('deleteService'),
  }
  const router = useRouter()
  const { project_id, service_id } = service
  const said = { startService: 'is starting', stopService: 'is stopping', deleteService: 'is being deleted' }
  const onSuccess = (name: Simple) => {
    change((now) => (now === name ? undefined : now))
    toast(`${service.name} ${said[name]}`)
    const is_here = `${router.state.location.pathname}/`.startsWith(`${paths.service(project_id, service_id)}/`)
    if (name === 'deleteService' && is_here) void router.navigate({ to: paths.services(project_id) })
  }
  return {
    acts,
    run: (name) => {
      if (acts[name].isPending) return
      // An act that was not asked for before has no other place for what went wrong. Another dialog keeps what is typed in it.
      const onError = () => change((now) => now ?? name)
      // As a promise, because the page of a service that is removed goes before the answer may be there.
      void acts[name].mutateAsync({ project_id, service_id }).then(() => onSuccess(name), onError)
    },
  }
}

// Their code comes when they are opened.
const ForkDialog = onDemand(async () => (await import('../forks/fork-dialog.tsx')).ForkDialog)
const PasswordDialog = onDemand(async () => (await import('./password-dialog.tsx')).PasswordDialog)
const ResizeDialog = onDemand(async () => (await import('./resize-dialog.tsx')).ResizeDialog)

type DialogProps = { opened: Opened; service: Service; simple: SimpleActs; onOpen: (opened: Opened) => void }

function ServiceDialog({ opened, service, simple, onOpen }: DialogProps) {
  const onClose = () => onOpen(undefined)
  if (opened === undefined) return null
  if (opened === 'resizeService') return <ResizeDialog service={service} onClose={onClose} />
  if (opened === 'updatePassword') return <PasswordDialog service={service} onClose={onClose} />
  if (opened === 'forkService') return <ForkDialog service={service} onClose={onClose} />
  const { isPending: pending, error } = simple.acts[opened]
  const confirmation = confirmationOf(opened, service) ?? failureOf(opened, service)
  const instead = { label: 'Fork it first', run: () => onOpen('forkService') }
  const asked = { ...confirmation, ...(opened === 'deleteService' && { instead }) }
  return <Confirm {...{ pending, error, onClose }} confirmation={asked} onConfirm={() => simple.run(opened)} />
}
