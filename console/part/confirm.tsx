// What is asked before what cannot be taken back, in the one dialog for it. Its code comes when it is asked for.
import { lazy, Suspense } from 'react'

export type Confirmation = {
  title: string
  lines: readonly string[]
  button: string
  danger?: boolean
  /** To be typed before the button works. */
  typed?: string | undefined
  /** What may be wiser. */
  instead?: { label: string; run: () => void } | undefined
}

export type ConfirmProps = {
  confirmation: Confirmation
  pending: boolean
  error: Error | null
  onConfirm: () => void
  onClose: () => void
}

const ConfirmDialog = lazy(async () => ({ default: (await import('./confirm-dialog.tsx')).ConfirmDialog }))

export function Confirm(props: ConfirmProps) {
  return (
    <Suspense>
      <ConfirmDialog {...props} />
    </Suspense>
  )
}
