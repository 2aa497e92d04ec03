// What is asked before what cannot be taken back, in the one dialog for it. Its code comes when it is asked for.
import { lazy, Suspense } from 'react'
import type { ConfirmProps } from './confirm-dialog.tsx'

const ConfirmDialog = lazy(async () => ({ default: (await import('./confirm-dialog.tsx')).ConfirmDialog }))

export function Confirm(props: ConfirmProps) {
  return (
    <Suspense>
      <ConfirmDialog {...props} />
    </Suspense>
  )
}
