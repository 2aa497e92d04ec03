// A creation that may be sent again. The same choices have the same key and the same moment from which they count, so that a repeat after
// an answer that was lost is the same request and makes nothing twice; other choices are another request, with a key of its own.
import { useRef } from 'react'
import { newKey } from '#contract/retry.ts'

type Sent = { choices: string; idempotency_key: string; /** Milliseconds. */ at: number }

/** Asked when the request is sent. */
export function useRepeat(): (choices: unknown) => Readonly<Sent> {
  const last = useRef<Sent>(undefined)
  return (choices) => {
    const text = JSON.stringify(choices)
    if (last.current?.choices !== text) last.current = { choices: text, idempotency_key: newKey(), at: Date.now() }
    return last.current
  }
}
