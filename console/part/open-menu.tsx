// What a menu shows while it is open: its acts beside the button that it belongs to.
import { Menu as Base } from '@base-ui/react/menu'
import { type RefObject, useRef } from 'react'
import type { Act } from './act.ts'
import css from './menu.module.css'

type Props = {
  button: RefObject<HTMLButtonElement | null>
  groups: readonly (readonly Act[])[]
  id: string
  /** The act that has the focus. */
  focus: 'first' | 'last' | undefined
  onClose: () => void
}

export function OpenMenu({ button, groups, id, focus, onClose }: Props) {
  const popup = useRef<HTMLDivElement>(null)
  const focused = () =>
    [...(popup.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])].at(focus === 'last' ? -1 : 0) ?? true
  return (
    <Base.Root
      open
      modal={false}
      onOpenChange={(_open, { event }) => {
        // A press on the button is the button's to answer.
        const is_own =
          event.type !== 'keydown' && event.target instanceof Node && button.current?.contains(event.target)
        if (is_own !== true) onClose()
      }}
    >
      <Base.Portal>
        <Base.Positioner anchor={button} sideOffset={4} align="end" className={css['layer']}>
          <Base.Popup
            ref={popup}
            id={id}
            className={css['popup']}
            aria-label={button.current?.ariaLabel ?? button.current?.textContent}
            {...(focus !== undefined && { initialFocus: focused })}
            finalFocus={button}
            onKeyDown={({ key }) => {
              if (key !== 'Tab') return
              // From there the browser goes on.
              button.current?.focus()
              onClose()
            }}
          >
            {groups.map((acts, index) => (
              <MenuGroup key={acts[0]?.label ?? index} acts={acts} first={index === 0} />
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}

function MenuGroup({ acts, first }: { acts: readonly Act[]; first: boolean }) {
  return (
    <>
      {!first && <div className={css['rule']} role="separator" />}
      {acts.map(({ label, reason, danger = false, run }) => (
        <Base.Item
          key={label}
          className={`${css['item']} ${danger && reason === undefined ? css['danger'] : ''}`}
          disabled={reason !== undefined}
          onClick={run}
        >
          {label}
          {reason !== undefined && <span className={css['why']}>{reason}</span>}
        </Base.Item>
      ))}
    </>
  )
}
