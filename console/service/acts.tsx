// Every act on a service, once: header, menu, table and palette show the same list, with the same reasons.
import { useNavigate } from '@tanstack/react-router'
import { lazy, type ReactElement, Suspense, useState } from 'react'
import type { Service } from '#contract/service.ts'
import { useMay } from '../may.ts'
import { iconTrigger } from '../part/button.tsx'
import { Confirm } from '../part/confirm.tsx'
import type { Act } from '../part/act.ts'
import { Menu } from '../part/menu.tsx'
import { toast } from '../part/toast.tsx'
import { paths } from '../paths.ts'
import { useAct } from '../query.ts'
import { confirmationOf } from './confirmation.ts'
import { beginRename } from './rename.tsx'

type Simple = 'startService' | 'stopService' | 'deleteService'
type Opened = Simple | 'resizeService' | 'updatePassword' | 'forkService' | undefined

const is_protected = 'the service is protected from deletion; its settings take that back'

export type ServiceActs = {
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
  const simple = useSimpleActs(service, () => setOpened(undefined))
  const navigate = useNavigate()
  const ask = (name: Exclude<Opened, undefined>, label: string, danger = false): Act => ({
    label,
    danger,
    reason: may(name) ?? (name === 'deleteService' && service.protected ? is_protected : undefined),
    run: () => {
      const is_simple = name === 'startService' || name === 'stopService' || name === 'deleteService'
      if (is_simple && confirmationOf(name, service) === undefined) simple.run(name)
      else setOpened(name)
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
    dialog: (
      <Suspense>
        <ServiceDialog {...{ opened, service, simple }} onOpen={setOpened} />
      </Suspense>
    ),
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

type SimpleActs = { run: (name: Simple) => void; pending: boolean; error: Error | null }

function useSimpleActs(service: Service, onDone: () => void): SimpleActs {
  const acts = {
    startService: useAct('startService'),
    stopService: useAct('stopService'),
    deleteService: useAct('deleteService'),
  }
  const navigate = useNavigate()
  const { project_id, service_id } = service
  const said = { startService: 'is starting', stopService: 'is stopping', deleteService: 'is being deleted' }
  const all = Object.values(acts)
  return {
    pending: all.some(({ isPending }) => isPending),
    error: all.find(({ error }) => error !== null)?.error ?? null,
    run: (name) =>
      acts[name].mutate(
        { project_id, service_id },
        {
          onSuccess: () => {
            onDone()
            toast(`${service.name} ${said[name]}`)
            if (name === 'deleteService') void navigate({ to: paths.services(project_id) })
          },
        },
      ),
  }
}

// Their code comes when they are opened.
const ForkDialog = lazy(async () => ({ default: (await import('../forks/fork-dialog.tsx')).ForkDialog }))
const PasswordDialog = lazy(async () => ({ default: (await import('./password-dialog.tsx')).PasswordDialog }))
const ResizeDialog = lazy(async () => ({ default: (await import('./resize-dialog.tsx')).ResizeDialog }))

type DialogProps = { opened: Opened; service: Service; simple: SimpleActs; onOpen: (opened: Opened) => void }

function ServiceDialog({ opened, service, simple, onOpen }: DialogProps) {
  const onClose = () => onOpen(undefined)
  if (opened === undefined) return null
  if (opened === 'resizeService') return <ResizeDialog service={service} onClose={onClose} />
  if (opened === 'updatePassword') return <PasswordDialog service={service} onClose={onClose} />
  if (opened === 'forkService') return <ForkDialog service={service} onClose={onClose} />
  const confirmation = confirmationOf(opened, service)
  if (confirmation === undefined) return null
  const { pending, error } = simple
  const instead = { label: 'Fork it first', run: () => onOpen('forkService') }
  const asked = { ...confirmation, ...(opened === 'deleteService' && { instead }) }
  return <Confirm {...{ pending, error, onClose }} confirmation={asked} onConfirm={() => simple.run(opened)} />
}
