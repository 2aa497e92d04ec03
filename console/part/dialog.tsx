// A dialog over the page: it takes the focus, gives it back, and closes by Escape. A form inside it keeps its text on any failure.
import { Dialog as Base } from '@base-ui/react/dialog'
import { type ReactNode, useState } from 'react'
import { Button, type ButtonKind } from './button.tsx'
import css from './dialog.module.css'
import { Form } from './form.tsx'
import { Problem } from './problem.tsx'

type DialogProps = {
  title: string
  open: boolean
  onClose: () => void
  /** A press beside it does not close it. */
  stays?: boolean
  children: ReactNode
}

export function Dialog({ title, open, onClose, stays = false, children }: DialogProps) {
  return (
    <Base.Root open={open} onOpenChange={(is_open) => !is_open && onClose()} disablePointerDismissal={stays}>
      <Base.Portal>
        <Base.Backdrop className={css['backdrop']} />
        <Base.Popup className={css['popup']}>
          <Base.Title className={css['title']}>{title}</Base.Title>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}

type FormProps = {
  children: ReactNode
  submit: string
  kind?: ButtonKind
  reason?: string | undefined
  pending: boolean
  error: Error | null
  shown_elsewhere?: readonly string[]
  /** A third button, before the two. */
  instead?: { label: string; run: () => void } | undefined
  onInput: () => void
  onSubmit: () => void
  onCancel: () => void
}

/** A dialog that is a form: open while it is there. A press that slips does not take away the text of its fields. */
export function FormDialog({
  title,
  onClose,
  ...form
}: { title: string; onClose: () => void } & Omit<FormProps, 'onCancel' | 'onInput'>) {
  const [is_typed, setTyped] = useState(false)
  // The answer may have a secret that is shown once: a request that is under way has a place for it.
  const close = () => {
    if (!form.pending) onClose()
  }
  return (
    <Dialog title={title} open onClose={close} stays={is_typed}>
      <DialogForm {...form} onInput={() => setTyped(true)} onCancel={close} />
    </Dialog>
  )
}

/** With its two buttons and what went wrong above them. */
function DialogForm(props: FormProps) {
  const { children, submit, kind = 'primary', reason, pending, error, onInput, onSubmit, onCancel } = props
  const { shown_elsewhere = [], instead } = props
  const under_way = pending ? 'the request is under way' : undefined
  return (
    <Form className={css['form']} onSubmit={() => reason === undefined && !pending && onSubmit()}>
      <div className={css['form']} onInput={onInput}>
        {children}
      </div>
      <Problem error={error} shown_elsewhere={shown_elsewhere} />
      <div className={css['actions']}>
        {instead && (
          <span className={css['instead']}>
            <Button reason={under_way} onPress={instead.run}>
              {instead.label}
            </Button>
          </span>
        )}
        <Button reason={under_way} onPress={onCancel}>
          Cancel
        </Button>
        <Button type="submit" kind={kind} reason={reason} pending={pending}>
          {submit}
        </Button>
      </div>
    </Form>
  )
}

/** What an act brings about, a sentence each. */
export function Consequences({ lines }: { lines: readonly string[] }) {
  return (
    <ul className={css['list']}>
      {lines.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  )
}
