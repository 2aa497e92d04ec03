// Links to the parts of one thing, the open one marked: each is an address of its own.
import { Link } from '@tanstack/react-router'
import css from './tabs.module.css'

export function Tabs({ label, tabs }: { label: string; tabs: readonly { to: string; text: string }[] }) {
  return (
    <nav className={css['tabs']} aria-label={label}>
      {tabs.map(({ to, text }) => (
        <Link
          key={to}
          to={to}
          activeOptions={{ exact: true, includeSearch: false }}
          activeProps={{ 'aria-current': 'page' }}
        >
          {text}
        </Link>
      ))}
    </nav>
  )
}
