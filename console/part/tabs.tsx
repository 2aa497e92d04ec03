// Links to the parts of one thing, the open one marked: each is an address of its own.
import { Link, useLocation } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import css from './tabs.module.css'

export function Tabs({ label, tabs }: { label: string; tabs: readonly { to: string; text: string }[] }) {
  const strip = useRef<HTMLElement>(null)
  const { pathname } = useLocation()
  useEffect(() => {
    const { current: nav } = strip
    const open = nav?.querySelector('[aria-current=page]')
    // On a narrow screen the strip is longer than what shows of it.
    if (nav && open instanceof HTMLElement) nav.scrollLeft = open.offsetLeft - (nav.clientWidth - open.offsetWidth) / 2
  }, [pathname])
  return (
    <nav ref={strip} className={css['tabs']} aria-label={label}>
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
