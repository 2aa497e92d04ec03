// A form that is sent by a button or by Enter. What is wrong with it we say ourselves, not the browser.
import type { ReactNode } from 'react'

type FormProps = {
  className?: string | undefined
  onSubmit: () => void
  onEscape?: () => void
  children: ReactNode
}

export function Form({ className, onSubmit, onEscape, children }: FormProps) {
  return (
    <form
      className={className}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
      onKeyDown={(event) => event.key === 'Escape' && onEscape?.()}
    >
      {children}
    </form>
  )
}
