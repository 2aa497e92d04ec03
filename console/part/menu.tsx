// A menu of acts behind a button. An act that is not possible is there all the same, and says why.
import { Menu as Base } from '@base-ui/react/menu'
import type { ReactElement } from 'react'
import css from './menu.module.css'

export type Act = {
  label: string
  reason?: string | undefined
  danger?: boolean
  run: () => void
}

/** Groups of acts, with a line between them. */
export function Menu({ trigger, groups }: { trigger: ReactElement; groups: readonly (readonly Act[])[] }) {
  return (
    <Base.Root modal={false}>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner sideOffset={4} align="end" className={css['layer']}>
          <Base.Popup className={css['popup']}>
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
