// The ways back of a service itself: to a moment, to before the last rewind, and of a fork to what its parent is now. Each is confirmed by
// the name, because what is there now gives way.
import type { Service } from '#contract/service.ts'
import { Confirm } from '../part/confirm.tsx'
import { toast } from '../part/toast.tsx'
import { exact } from '../part/time.tsx'
import { useAct } from '../query.ts'

/** Without a moment: to before the last rewind; `parent`: to its parent’s present. */
export type Way = { to: 'moment'; target_time: string } | { to: 'before' } | { to: 'parent' }

type BackProps = { service: Service; way: Way; onClose: () => void }

const cut = 'Open sessions end once. Endpoint and master password stay; replicas and replica sets follow.'
const kept = 'The state of now is kept as a snapshot, and “Undo the rewind” leads back to it.'

export function Back({ service, way, onClose }: BackProps) {
  const { project_id, service_id, name } = service
  const rewind = useAct('rewindService')
  const undo = useAct('undoRewind')
  const reset = useAct('resetService')
  const at = { project_id, service_id }
  const onSuccess = () => {
    onClose()
    toast(`${name} goes back; its sessions end in a moment`)
  }
  const words = {
    moment: { title: `Rewind ${name}?`, button: 'Rewind it', lines: [momentLine(way), cut, kept] },
    before: { title: `Undo the rewind of ${name}?`, button: 'Undo it', lines: [cut, kept] },
    parent: {
      title: `Reset ${name} to its parent?`,
      button: 'Reset it',
      lines: ['It becomes what its parent is now. What it has is lost, with its snapshots.', cut],
    },
  }[way.to]
  return (
    <Confirm
      confirmation={{ ...words, typed: name }}
      pending={rewind.isPending || undo.isPending || reset.isPending}
      error={rewind.error ?? undo.error ?? reset.error}
      onConfirm={() => {
        if (way.to === 'moment') rewind.mutate({ ...at, body: { target_time: way.target_time } }, { onSuccess })
        else if (way.to === 'before') undo.mutate(at, { onSuccess })
        else reset.mutate(at, { onSuccess })
      }}
      onClose={onClose}
    />
  )
}

const momentLine = (way: Way) =>
  way.to === 'moment' ? `All that was written after ${exact(Date.parse(way.target_time))} is undone.` : ''
