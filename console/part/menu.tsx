// A menu of acts behind a button. An act that is not possible is there all the same, and says why. The code of what opens comes later
// than the page: the button itself needs none of it.
import { cloneElement, type ComponentProps, lazy, type ReactElement, Suspense, useRef, useState } from 'react'

export type Act = {
  label: string
  reason?: string | undefined
  danger?: boolean
  run: () => void
}

type MenuProps = { trigger: ReactElement<ComponentProps<'button'>>; groups: readonly (readonly Act[])[] }

const OpenMenu = lazy(async () => ({ default: (await import('./open-menu.tsx')).OpenMenu }))

/** Groups of acts, with a line between them. */
export function Menu({ trigger, groups }: MenuProps) {
  const button = useRef<HTMLButtonElement>(null)
  const [opened, setOpened] = useState<'by pointer' | 'by key'>()
  return (
    <>
      {cloneElement(trigger, {
        ref: button,
        'aria-haspopup': 'menu',
        'aria-expanded': opened !== undefined,
        // A key presses without a pointer: zero times.
        onClick: ({ detail }) => setOpened(opened === undefined ? (detail === 0 ? 'by key' : 'by pointer') : undefined),
        onKeyDown: (event) => {
          if (event.key !== 'ArrowDown') return
          event.preventDefault()
          setOpened('by key')
        },
      })}
      {opened !== undefined && (
        <Suspense>
          <OpenMenu {...{ button, groups }} by_key={opened === 'by key'} onClose={() => setOpened(undefined)} />
        </Suspense>
      )}
    </>
  )
}
