// What can be copied: a short text with a button behind it, or a block of code with a button in its corner.
import { useEffect, useState } from 'react'
import { Button } from './button.tsx'
import css from './copy.module.css'

const said_ms = 2_000

function useCopy(text: string): [boolean, () => void] {
  const [done, setDone] = useState(false)
  useEffect(() => {
    if (!done) return undefined
    const timer = setTimeout(() => setDone(false), said_ms)
    return () => clearTimeout(timer)
  }, [done])
  return [done, () => void copied(text).then(setDone)]
}

/** False: the browser does not let a page do it. A page that came without TLS has only the older way. */
async function copied(text: string): Promise<boolean> {
  if ('clipboard' in navigator) {
    return await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    )
  }
  const give = (event: ClipboardEvent) => {
    event.clipboardData?.setData('text/plain', text)
    event.preventDefault()
  }
  document.addEventListener('copy', give)
  const is_done = document.execCommand('copy')
  document.removeEventListener('copy', give)
  return is_done
}

type CopyProps = { text: string; label?: string; quiet?: boolean }

export function CopyButton({ text, label = 'Copy', quiet = false }: CopyProps) {
  const [done, copy] = useCopy(text)
  return (
    <Button small kind={quiet ? 'quiet' : 'plain'} icon={done ? 'check' : 'copy'} onPress={copy}>
      {done ? 'Copied' : label}
    </Button>
  )
}

type Named = { text: string; /** For the button, such as `id`. */ what: string }

export function CopyText({ text, what }: Named) {
  return (
    <span className={css['inline']}>
      <code>{text}</code>
      <CopyIcon text={text} what={what} />
    </span>
  )
}

/** Of a text that is not shown. */
export function CopyIcon({ text, what }: Named) {
  const [done, copy] = useCopy(text)
  return (
    <Button small kind="quiet" icon={done ? 'check' : 'copy'} label={done ? 'Copied' : `Copy ${what}`} onPress={copy} />
  )
}

export function CodeBlock({ text, label, wrap = false }: { text: string; label: string; wrap?: boolean }) {
  return (
    <div className={`${css['block']} ${wrap ? css['wrap'] : ''}`}>
      <span className={css['corner']}>
        <CopyButton text={text} />
      </span>
      <pre tabIndex={0} role="region" aria-label={label}>
        <code>{text}</code>
      </pre>
    </div>
  )
}
