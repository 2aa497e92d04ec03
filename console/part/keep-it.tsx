// Under a secret that is shown once: its reader says that it is kept, and only then it is closed. Until then no link, no way back and no
// reload takes it away without a question.
import { useBlocker } from '@tanstack/react-router'
import { Button } from './button.tsx'
import { CheckField } from './field.tsx'
import { layout } from './layout.tsx'

type Kept = {
  what: string
  has_it: boolean
  onHasIt: (has_it: boolean) => void
  onClose: () => void
  /** Pages that show it as well. */
  isShownAt?: (pathname: string) => boolean
}

export function KeepIt({ what, has_it, onHasIt, onClose, isShownAt = () => false }: Kept) {
  useBlocker({
    shouldBlockFn: ({ next }) =>
      !isShownAt(next.pathname) && !has_it && !confirm(`The ${what} is not shown again. Leave this page?`),
    enableBeforeUnload: !has_it,
  })
  return (
    <div className={layout['row']}>
      <CheckField label="I have it" checked={has_it} onChange={onHasIt} />
      <Button kind="primary" reason={has_it ? undefined : 'say first that you have it'} onPress={onClose}>
        Close for ever
      </Button>
    </div>
  )
}
