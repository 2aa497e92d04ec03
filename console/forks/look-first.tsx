// A look at a moment before it is brought back: a small fork that ends by itself after an hour, opened where it can be asked.
import { useNavigate } from '@tanstack/react-router'
import type { Service } from '#contract/service.ts'
import { FormDialog } from '../part/dialog.tsx'
import { layout } from '../part/layout.tsx'
import { exact } from '../part/time.tsx'
import { paths } from '../paths.ts'
import { useAct } from '../query.ts'
import { useRepeat } from '../repeat.ts'
import { endings } from '../service/ending.tsx'

type LookProps = { service: Service; target_time: string | undefined; onClose: () => void }

const name_chars_max = 100

export function LookFirst({ service, target_time = '', onClose }: LookProps) {
  const { project_id, service_id } = service
  const repeat = useRepeat()
  const { mutate, isPending, error } = useAct('forkService')
  const navigate = useNavigate()
  const when = exact(Date.parse(target_time), { ms: false })
  const make = () => {
    const { idempotency_key, at } = repeat(target_time)
    mutate(
      {
        project_id,
        service_id,
        idempotency_key,
        body: {
          fork_strategy: 'PITR',
          target_time,
          name: `${service.name.slice(0, name_chars_max)} at ${when}`,
          cpu_millis: 'shared',
          memory_gbs: 'shared',
          environment_tag: 'DEV',
          expires_at: new Date(at + endings['1h']).toISOString(),
        },
      },
      {
        onSuccess: (fork) => {
          onClose()
          void navigate({ to: paths.service(project_id, fork.service_id, 'sql') })
        },
      },
    )
  }
  return (
    <FormDialog
      title={`Look at ${service.name} as it was`}
      onClose={onClose}
      submit="Look"
      pending={isPending}
      error={error}
      onSubmit={make}
    >
      <p>
        As it was at <strong>{exact(Date.parse(target_time))}</strong>.
      </p>
      <p className={layout['muted']}>
        A shared DEV fork, which is deleted by itself after an hour. Ask it with SQL; if it is the right moment, fork
        here.
      </p>
    </FormDialog>
  )
}
