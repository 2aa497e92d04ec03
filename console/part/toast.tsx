// Short notes of success in a corner, said politely by readers. Errors are never here: they stay where the act was.
import { Icon } from './icon.tsx'
import { newTold } from './told.ts'
import css from './toast.module.css'

const shown_ms = 4_000
type Toast = { id: number; text: string }

let toasts: readonly Toast[] = []
let last_id = 0
const { tell, useTold } = newTold()

export function toast(text: string): void {
  last_id += 1
  const id = last_id
  change([...toasts, { id, text }])
  setTimeout(() => change(toasts.filter((one) => one.id !== id)), shown_ms)
}

function change(next: readonly Toast[]): void {
  toasts = next
  tell()
}

export function Toasts() {
  const shown = useTold(() => toasts)
  return (
    <div className={css['toasts']} role="status" aria-live="polite">
      {shown.map(({ id, text }) => (
        <div key={id} className={css['toast']}>
          <Icon name="check" />
          {text}
        </div>
      ))}
    </div>
  )
}
