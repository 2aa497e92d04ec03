// The frames that pages are made of: a page with its head, cards, facts, an empty state, a bar, and the shadow of what loads.
import { type ReactNode, useEffect, useRef } from 'react'
import css from './layout.module.css'

export const layout = css

type PageProps = { title: string; actions?: ReactNode; children: ReactNode; narrow?: boolean }

/** The title is that of the browser's tab too, and gets the focus after a navigation. */
export function Page({ title, actions, children, narrow = false }: PageProps) {
  const head = usePageTitle(title)
  return (
    <div className={`${css['page']} ${narrow ? css['narrow'] : ''}`}>
      <div className={css['head']}>
        <h1 ref={head} tabIndex={-1}>
          {title}
        </h1>
        {actions}
      </div>
      {children}
    </div>
  )
}

/** `part`: which page of the thing it is; `of`: which thing, where its title may change. */
export function usePageTitle(title: string, part?: string, of = title) {
  const head = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = [...(part === undefined ? [] : [part]), title, 'Howdah'].join(' · ')
  }, [title, part])
  useEffect(() => {
    // What led here, such as a link of the rail, is no part of the page. A field of the page that has the focus keeps it.
    const inside = document.activeElement?.closest('main, [role=dialog]') ?? null
    if (inside === null) head.current?.focus({ preventScroll: true })
  }, [of])
  return head
}

type CardProps = {
  title?: string
  actions?: ReactNode
  children: ReactNode
  /** As wide as the grid. */ wide?: boolean
}

export function Card({ title, actions, children, wide = false }: CardProps) {
  return (
    <section className={`${css['card']} ${wide ? css['wide'] : ''}`} aria-label={title}>
      {(title !== undefined || actions !== undefined) && (
        <div className={css['cardhead']}>
          {title !== undefined && <h2>{title}</h2>}
          {actions}
        </div>
      )}
      {children}
    </section>
  )
}

/** Labels and values; those without a value are left out. */
export function Facts({ facts }: { facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className={css['facts']}>
      {facts
        .filter(([, value]) => value !== undefined && value !== null && value !== false)
        .map(([label, value]) => (
          <FactRow key={label} label={label} value={value} />
        ))}
    </dl>
  )
}

function FactRow({ label, value }: { label: string; value: ReactNode }) {
  return (
    <>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </>
  )
}

export function Empty({ title, text, children }: { title: string; text: string; children?: ReactNode }) {
  return (
    <div className={css['empty']}>
      <h2>{title}</h2>
      <p>{text}</p>
      {children}
    </div>
  )
}

/** How much of what there may be; without a limit the amount alone. */
export function Meter({ label, text, share }: { label: string; text: string; share: number | undefined }) {
  const percent = share === undefined ? undefined : Math.max(0, Math.min(100, share * 100))
  return (
    <div className={css['meter']}>
      <span>{text}</span>
      {percent !== undefined && (
        <div
          className={css['bar']}
          role="meter"
          aria-label={label}
          aria-valuenow={Math.round(percent)}
          aria-valuetext={text}
        >
          <i className={percent > 85 ? css['high'] : undefined} style={{ width: `${percent}%` }} />
        </div>
      )}
    </div>
  )
}

export function Skeleton({ lines = 5 }: { lines?: number }) {
  return (
    <div className={css['skeleton']} aria-busy="true" aria-label="Loading">
      {Array.from({ length: lines }, (_, index) => (
        <i key={index} style={{ width: `${90 - ((index * 23) % 45)}%` }} />
      ))}
    </div>
  )
}
