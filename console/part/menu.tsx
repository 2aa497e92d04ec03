// A menu of acts behind a button. An act that is not possible is there all the same, and says why. The code of what opens comes later
// than the page: the button itself needs none of it.
import { cloneElement, type ComponentProps, type ReactElement, useId, useRef, useState } from 'react'
import type { Act } from './act.ts'
import { onDemand } from './on-demand.tsx'

type MenuProps = { trigger: ReactElement<ComponentProps<'button'>>; groups: readonly (readonly Act[])[] }

const OpenMenu = onDemand(async () => (await import('./open-menu.tsx')).OpenMenu)

/** Groups of acts, with a line between them. */
export function Menu({ trigger, groups }: MenuProps) {
  const button = useRef<HTMLButtonElement>(null)
  const id = useId()
  const [opened, setOpened] = useState<'by pointer' | 'first' | 'last'>()
  return (
    <>
      {cloneElement(trigger, {
        ref: button,
        'aria-haspopup': 'menu',
        'aria-expanded': opened !== undefined,
        'aria-controls': opened && id,
        // A key presses without a pointer: zero times.
        onClick: ({ detail }) => setOpened(opened === undefined ? (detail === 0 ? 'first' : 'by pointer') : undefined),
        onKeyDown: (event) => {
          if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
          event.preventDefault()
          setOpened(event.key === 'ArrowDown' ? 'first' : 'last')
        },
      })}
      {opened !== undefined && (
        <OpenMenu
          {...{ button, groups, id }}
          focus={opened === 'by pointer' ? undefined : opened}
          onClose={() => setOpened(undefined)}
        />
      )}
    </>
  )
}
