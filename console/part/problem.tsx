// What went wrong, where it went wrong, until it is mended: the server's message, every invalid member, the code, the id of the
// request, and a way to try again.
import { Link, useParams } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Fault } from '#contract/fault.ts'
import { paths } from '../paths.ts'
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'
import css from './problem.module.css'

type ProblemProps = {
  error: Error | null | undefined
  onRetry?: () => void
  /** Paths of members whose problems stand at their own fields. */
  shown_elsewhere?: readonly string[]
}

export function Problem({ error, onRetry, shown_elsewhere = [] }: ProblemProps) {
  if (error === null || error === undefined) return null
  const fault = error instanceof Fault ? error : undefined
  const lines = (fault?.details?.split('\n') ?? []).filter(
    (line) => !shown_elsewhere.some((path) => line.startsWith(`${path}:`)),
  )
  return (
    <div className={css['problem']} role="alert">
      <Icon name="warning" />
      <div className={css['body']}>
        <p className={css['message']}>
          {fault === undefined ? withoutServer(error) : <Linked text={sentenceOf(fault)} />}
        </p>
        {lines.map((line) => (
          <p key={line}>{line}</p>
        ))}
        <p className={css['facts']}>
          {fault !== undefined && <code>{fault.code}</code>}
          {fault?.request_id !== undefined && <code>request {fault.request_id}</code>}
          {onRetry !== undefined && (
            <Retry key={fault?.request_id} seconds={fault?.retry_after_seconds} onRetry={onRetry} />
          )}
        </p>
      </div>
    </div>
  )
}

/** Its details follow right below or stand at their fields, without the name that the API has for them. */
const sentenceOf = ({ message, details }: Fault) =>
  details === undefined ? message : (message.split('; details ')[0] ?? message)

const named_form = /(?<!deleted )\b(service|VPC) ([a-z0-9]+) \(([^)]*)\)/

/** What stands in the way leads to its page. */
function Linked({ text }: { text: string }): ReactNode {
  const { project_id } = useParams({ strict: false })
  const [found = '', kind, id = '', name] = named_form.exec(text) ?? []
  if (project_id === undefined || kind === undefined) return text
  const at = text.indexOf(found)
  return (
    <>
      {text.slice(0, at)}
      <Link to={kind === 'VPC' ? paths.vpc(project_id, id) : paths.service(project_id, id)}>
        {kind} {name}
      </Link>
      <Linked text={text.slice(at + found.length)} />
    </>
  )
}

/** By hand, and by itself when the server has said when. */
function Retry({ seconds, onRetry }: { seconds: number | undefined; onRetry: () => void }) {
  const [left, setLeft] = useState(seconds)
  // A page that is drawn again has another function, and would begin the second anew.
  const retry = useRef(onRetry)
  retry.current = onRetry
  useEffect(() => {
    if (left === undefined) return undefined
    if (left <= 0) {
      setLeft(undefined)
      return retry.current()
    }
    const timer = setTimeout(() => setLeft(left - 1), 1000)
    return () => clearTimeout(timer)
  }, [left])
  return (
    <Button small onPress={onRetry}>
      {left === undefined ? 'Try again' : `Try again, by itself in ${left} s`}
    </Button>
  )
}

/** The problem of one member, by its JSON path. */
export function problemAt(error: Error | null | undefined, path: string): string | undefined {
  if (!(error instanceof Fault)) return undefined
  const line = error.details?.split('\n').find((line) => line.startsWith(`${path}:`))
  return line?.slice(path.length + 1).trim()
}

export function Note({ children, warn = false }: { children: ReactNode; warn?: boolean }) {
  return <div className={`${css['note']} ${warn ? css['warn'] : ''}`}>{children}</div>
}

function withoutServer(error: Error): string {
  return error instanceof TypeError || error.name === 'TimeoutError' ? 'the server cannot be reached' : error.message
}
