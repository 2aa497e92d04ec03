// The one dialog before what cannot be taken back: it says what will be, and for a PROD service it wants the name typed.
import { useState } from 'react'
import { Consequences, FormDialog } from './dialog.tsx'
import { TextField } from './field.tsx'

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

type ConfirmProps = {
  confirmation: Confirmation
  pending: boolean
  error: Error | null
  onConfirm: () => void
  onClose: () => void
}

export function ConfirmDialog({ confirmation, pending, error, onConfirm, onClose }: ConfirmProps) {
  const { title, lines, button, danger = true, typed, instead } = confirmation
  const [text, setText] = useState('')
  const reason = typed === undefined || text === typed ? undefined : `type ${typed} first`
  return (
    <FormDialog
      title={title}
      onClose={onClose}
      submit={button}
      kind={danger ? 'danger' : 'primary'}
      reason={reason}
      instead={instead}
      pending={pending}
      error={error}
      onSubmit={onConfirm}
    >
      <Consequences lines={lines} />
      {typed !== undefined && (
        <TextField label={`Type ${typed} to confirm`} value={text} onChange={setText} autoComplete="off" />
      )}
    </FormDialog>
  )
}
