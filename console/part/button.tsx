// A button that is never dead without a reason: `reason` says why it cannot be pressed, can be read by focus and by pointer, and
// keeps the press from happening. There is no other way to disable one.
import { Link } from '@tanstack/react-router'
import type { ComponentProps, ReactElement, ReactNode } from 'react'
import css from './button.module.css'
import { Icon, type IconName } from './icon.tsx'

export type ButtonKind = 'plain' | 'primary' | 'danger' | 'quiet'

type Look = { kind?: ButtonKind; small?: boolean; icon?: IconName }

type ButtonProps = Look & {
  children?: ReactNode
  /** The name of a button that shows an icon alone. */
  label?: string
  /** Why it cannot be pressed now. */
  reason?: string | undefined
  pending?: boolean
  type?: 'button' | 'submit'
  pressed?: boolean
  onPress?: () => void
}

export function Button(props: ButtonProps) {
  const { children, label, reason, pending = false, type = 'button', pressed, onPress, icon } = props
  const stopped = reason !== undefined || pending
  return (
    <button
      type={type}
      className={classOf(props, children === undefined)}
      aria-label={label}
      aria-disabled={stopped || undefined}
      aria-description={reason}
      aria-busy={pending || undefined}
      aria-pressed={pressed}
      data-tip={reason ?? (children === undefined ? label : undefined)}
      onClick={(event) => {
        if (stopped) event.preventDefault()
        else onPress?.()
      }}
    >
      {pending ? <span className={css['spin']} /> : icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

/** In a table: removes what its row is about. */
export function RemoveButton(props: { label: string; reason: string | undefined; onPress: () => void }) {
  return <Button small kind="quiet" icon="close" {...props} />
}

/** A link that looks like a button. */
export function ButtonLink({ to, children, ...look }: Look & { to: string; children: ReactNode }) {
  return (
    <Link to={to} className={classOf(look, false)}>
      {look.icon && <Icon name={look.icon} />}
      {children}
    </Link>
  )
}

/** What opens a menu: a plain element, which the menu gives its own behaviour. */
export function iconTrigger(label: string, look: Look = {}): ReactElement<ComponentProps<'button'>> {
  return (
    <button type="button" className={classOf(look, true)} aria-label={label}>
      <Icon name="more" />
    </button>
  )
}

function classOf({ kind = 'plain', small = false }: Look, icon_only: boolean): string {
  return [css['button'], css[kind], small && css['small'], icon_only && css['icon']].filter(Boolean).join(' ')
}
