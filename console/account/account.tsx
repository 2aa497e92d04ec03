// The user's own page: who this is, where they are logged in, how pages look, and how a program does the same.
import { useQuery } from '@tanstack/react-query'
import { base_path } from '#contract/api.ts'
import { kept } from '../keep.ts'
import { Button } from '../part/button.tsx'
import { CodeBlock, CopyText } from '../part/copy.tsx'
import { Card, Facts, layout, Page } from '../part/layout.tsx'
import { Problem } from '../part/problem.tsx'
import { q } from '../query.ts'
import { logout } from '../session.ts'
import { Logins } from './logins.tsx'
import { Looks } from './looks.tsx'

export function Account() {
  const { data, error } = useQuery(q('getAuthInfo', {}))
  const { data: capabilities } = useQuery(q('getCapabilities', {}))
  const user = data?.oauth?.user
  const { data: projects } = useQuery(q('listProjects', {}))
  const project_id = (projects?.find(({ id }) => id === kept('project')) ?? projects?.[0])?.id
  return (
    <Page title="Account" narrow>
      <Problem error={error} />
      <Card
        title="You"
        actions={
          <Button icon="out" onPress={() => void logout()}>
            Log out
          </Button>
        }
      >
        <Facts
          facts={[
            ['Name', user?.name],
            ['E-mail', user?.email],
            ['User id', user !== undefined && <CopyText text={user.id} what="id" />],
            ['Password', capabilities?.login === 'password' && <a href="/oauth/password">Change it</a>],
          ]}
        />
      </Card>
      <Logins />
      <Looks />
      <Card title="The API">
        <p className={layout['muted']}>
          Whatever this console does, a program can do with a token. <a href="/docs/reference">The reference</a> has
          every endpoint.
        </p>
        <CodeBlock label="A request with curl" text={requestTo(project_id)} wrap />
      </Card>
    </Page>
  )
}

/** With an id of theirs, where they have one. */
function requestTo(project_id: string | undefined): string {
  const path = project_id === undefined ? 'projects' : `projects/${project_id}/services`
  return [`curl -sS "${location.origin}${base_path}/${path}"`, `-H "Authorization: Bearer $HOWDAH_TOKEN"`].join(
    ' \\\n  ',
  )
}
