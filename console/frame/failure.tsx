// What a page shows that could not be loaded: a thing that does not exist, or what went wrong, with a way on.
import { useRouter } from '@tanstack/react-router'
import { Fault } from '#contract/fault.ts'
import { ButtonLink } from '../part/button.tsx'
import { Empty, Page } from '../part/layout.tsx'
import { Problem } from '../part/problem.tsx'

export function Failure(props: { error?: unknown }) {
  const error = props.error instanceof Error ? props.error : undefined
  const router = useRouter()
  const is_unknown = error === undefined || (error instanceof Fault && error.code === 'NOT_FOUND')
  if (!is_unknown) {
    return (
      <Page title="This page could not be loaded">
        <Problem error={error} onRetry={() => void router.invalidate()} />
      </Page>
    )
  }
  return (
    <Page title="Not found">
      <Empty
        title="There is nothing here"
        text={error?.message ?? 'No page or thing has this address, or it is not yours to see.'}
      >
        <ButtonLink to="/">Go to the services</ButtonLink>
      </Empty>
    </Page>
  )
}
