// A button for what ends sessions or weakens a service: on PROD it asks first, with the words of the one table.
import { type ReactNode, useState } from 'react'
import type { Service } from '#contract/service.ts'
import { Button, type ButtonKind } from '../part/button.tsx'
import { Confirm } from '../part/confirm.tsx'
import { Problem } from '../part/problem.tsx'
import { confirmationOf, type Interruption } from './confirmation.ts'

type Props = {
  name: Interruption
  service: Service
  children: ReactNode
  kind?: ButtonKind
  reason: string | undefined
  /** Where nothing is lost by it. */
  is_harmless?: boolean
  mutation: { isPending: boolean; error: Error | null }
  run: (after: { onSuccess: () => void }) => void
}

export function InterruptingButton(props: Props) {
  const { name, service, children, kind = 'plain', reason, is_harmless = false, mutation, run } = props
  const { isPending, error } = mutation
  const [asking, setAsking] = useState(false)
  const confirmation = is_harmless ? undefined : confirmationOf(name, service)
  const act = () => run({ onSuccess: () => setAsking(false) })
  return (
    <>
      <Button
        kind={kind}
        reason={reason}
        pending={isPending}
        onPress={() => (confirmation === undefined ? act() : setAsking(true))}
      >
        {children}
      </Button>
      {!asking && <Problem error={error} />}
      {asking && confirmation !== undefined && (
        <Confirm {...{ confirmation, error }} pending={isPending} onConfirm={act} onClose={() => setAsking(false)} />
      )}
    </>
  )
}
