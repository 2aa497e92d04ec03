// The user's own page: who this is, how pages look, and the end of the login.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTheme } from '../frame/theme.ts'
import { keep, kept } from '../keep.ts'
import { Button } from '../part/button.tsx'
import { CodeBlock, CopyText } from '../part/copy.tsx'
import { Segments } from '../part/field.tsx'
import { Card, Facts, layout, Page } from '../part/layout.tsx'
import { Problem } from '../part/problem.tsx'
import { q } from '../query.ts'
import { logout } from '../session.ts'

export function Account() {
  const { data, error } = useQuery(q('getAuthInfo', {}))
  const { data: capabilities } = useQuery(q('getCapabilities', {}))
  const user = data?.oauth?.user
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
      <Looks />
      <Card title="The API">
        <p className={layout['muted']}>
          Whatever this console does, a program can do with a token. <a href="/docs/reference">The reference</a> has
          every endpoint.
        </p>
        <CodeBlock
          label="A request with curl"
          text={`curl -sS "${location.origin}/public/api/v1/projects" -H "Authorization: Bearer $HOWDAH_TOKEN"`}
          wrap
        />
      </Card>
    </Page>
  )
}

function Looks() {
  const [theme, setTheme] = useTheme()
  const [clock, setClock] = useState(kept('clock') ?? 'local')
  const [keys, setKeys] = useState(kept('keys') ?? 'on')
  return (
    <Card title="How pages look">
      <Segments
        label="Theme"
        name="theme"
        value={theme}
        options={[
          { value: 'auto', label: 'As the system' },
          { value: 'light', label: 'Light' },
          { value: 'dark', label: 'Dark' },
        ]}
        onChange={setTheme}
      />
      <Segments
        label="Exact times"
        name="clock"
        value={clock}
        options={[
          { value: 'local', label: 'Local' },
          { value: 'utc', label: 'UTC' },
        ]}
        onChange={(value) => {
          setClock(value)
          keep('clock', value === 'utc' ? 'utc' : undefined)
        }}
      />
      <Segments
        label="Keys (press ? for the list)"
        name="keys"
        value={keys}
        options={[
          { value: 'on', label: 'On' },
          { value: 'off', label: 'Off' },
        ]}
        onChange={(value) => {
          setKeys(value)
          keep('keys', value === 'off' ? 'off' : undefined)
        }}
      />
    </Card>
  )
}
