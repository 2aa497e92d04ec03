// The words of a `data-tip`: beside what has the focus by a key, or under a pointer that rests. One at a time for the whole page.
import { Tooltip } from '@base-ui/react/tooltip'
import { useEffect, useState } from 'react'
import css from './button.module.css'

const rest_ms = 300
/** For the way from the button to its words, which can be pointed at too. */
const leave_ms = 100

type Tip = { beside: HTMLElement; text: string }

export function Tips() {
  const [tip, setTip] = useState<Tip>()
  const beside = tip?.beside
  useEffect(() => watch((next) => setTip(next && tipOf(next))), [])
  useEffect(() => {
    if (beside === undefined) return undefined
    // It may get other words meanwhile, or go.
    const changes = new MutationObserver(() => setTip(tipOf(beside)))
    changes.observe(document.body, { subtree: true, childList: true, attributeFilter: ['data-tip'] })
    return () => changes.disconnect()
  }, [beside])
  if (tip === undefined) return null
  return (
    <Tooltip.Root open>
      <Tooltip.Portal>
        <Tooltip.Positioner anchor={tip.beside} sideOffset={6} className={css['layer']}>
          <Tooltip.Popup className={css['tip']} role="tooltip">
            {tip.text}
          </Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  )
}

function tipOf(beside: HTMLElement): Tip | undefined {
  const text = beside.isConnected ? beside.dataset['tip'] : undefined
  return text ? { beside, text } : undefined
}

/** Returns how to stop. */
function watch(show: (beside: HTMLElement | undefined) => void): () => void {
  const end = new AbortController()
  let due: ReturnType<typeof setTimeout> | undefined
  const showIn = (ms: number, beside?: HTMLElement) => {
    clearTimeout(due)
    due = setTimeout(() => show(beside), ms)
  }
  const listen = (name: keyof DocumentEventMap, listener: (target: Element, event: Event) => void) =>
    document.addEventListener(name, (event) => event.target instanceof Element && listener(event.target, event), {
      signal: end.signal,
      capture: true,
    })
  // What came there before this code.
  showIn(0, document.querySelector<HTMLElement>('[data-tip]:is(:focus-visible, :hover)') ?? undefined)
  listen('pointerover', (target) => {
    if (target.closest('[role=tooltip]') !== null) clearTimeout(due)
    else {
      const beside = target.closest<HTMLElement>('[data-tip]') ?? undefined
      showIn(beside === undefined ? leave_ms : rest_ms, beside)
    }
  })
  listen('focusin', (target) => {
    if (target instanceof HTMLElement && target.matches('[data-tip]:focus-visible')) showIn(0, target)
  })
  // Out of the window there is nothing over which it would be.
  listen('pointerout', (_target, event) => event instanceof PointerEvent && event.relatedTarget === null && showIn(0))
  for (const name of ['focusout', 'pointerdown', 'keydown'] as const) listen(name, () => showIn(0))
  return () => {
    clearTimeout(due)
    end.abort()
  }
}
