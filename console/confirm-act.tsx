// An act that is asked for in a dialog of its own first, and then done.
import type { ClientInput } from '#contract/client.ts'
import type { Confirmation } from './part/confirm-dialog.tsx'
import { Confirm } from './part/confirm.tsx'
import { useAct } from './query.ts'
import type { ActName } from './refetch.ts'

type ConfirmActProps<Name extends ActName> = {
  act: Name
  input: ClientInput<Name>
  confirmation: Confirmation
  onClose: () => void
  /** Where the page that asked is no more. */
  onDone?: () => void
}

export function ConfirmAct<Name extends ActName>({
  act,
  input,
  confirmation,
  onClose,
  onDone = onClose,
}: ConfirmActProps<Name>) {
  const { mutate, isPending, error } = useAct(act)
  return (
    <Confirm
      {...{ confirmation, error, onClose }}
      pending={isPending}
      onConfirm={() => mutate(input, { onSuccess: () => onDone() })}
    />
  )
}
