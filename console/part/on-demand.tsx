// A part whose code comes when it is opened. Where the code does not come, as after a cut or from a server that has another build by now,
// a note stands in the place of the part and offers to try again; the page below it stays.
import { type ComponentType, useCallback, useEffect, useRef, useState } from 'react'
import { createPortal } from 'react-dom'
import { Button } from './button.tsx'
import css from './dialog.module.css'
import { layout } from './layout.tsx'

type Closing = { /** Undefined: a part that is not closed. */ onClose?: () => void }

export function onDemand<Props extends object>(load: () => Promise<ComponentType<Props>>) {
  let loaded: ComponentType<Props> | undefined
  return function OnDemand(props: Props & Closing) {
    const [Part, setPart] = useState(() => loaded)
    const [is_lost, setLost] = useState(false)
    const get = useCallback(() => {
      load().then(
        (part) => {
          loaded = part
          setPart(() => part)
        },
        () => setLost(true),
      )
    }, [])
    useEffect(() => {
      if (loaded === undefined) get()
    }, [get])
    if (Part !== undefined) return <Part {...props} />
    if (!is_lost) return null
    return (
      <Lost
        onAgain={() => {
          setLost(false)
          get()
        }}
        onClose={props.onClose}
      />
    )
  }
}

/** It takes the focus, and gives it back. */
function Lost({ onAgain, onClose }: { onAgain: () => void; onClose: (() => void) | undefined }) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const before = document.activeElement
    box.current?.querySelector('button')?.focus()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return createPortal(
    <div
      ref={box}
      className={css['popup']}
      role="alertdialog"
      aria-label="Not loaded"
      onKeyDown={(event) => event.key === 'Escape' && onClose?.()}
    >
      <p role="alert">This part of the page did not come from the server. What you have typed is still there.</p>
      <div className={layout['row']}>
        <Button kind="primary" onPress={onAgain}>
          Try again
        </Button>
        <Button onPress={() => location.reload()}>Load the page anew</Button>
        {onClose !== undefined && <Button onPress={onClose}>Close</Button>}
      </div>
    </div>,
    document.body,
  )
}
