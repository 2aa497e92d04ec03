// The programs in which the user is logged in, and the end of each login.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Login } from '#contract/auth.ts'
import { Button } from '../part/button.tsx'
import { ConfirmAct } from '../confirm-act.tsx'
import { Card, layout, Skeleton } from '../part/layout.tsx'
import { Problem } from '../part/problem.tsx'
import { Tag } from '../part/status.tsx'
import { Table } from '../part/table.tsx'
import { Time } from '../part/time.tsx'
import { q } from '../query.ts'

export function Logins() {
  const { data, error, refetch } = useQuery(q('listLogins', {}))
  const [ending, setEnding] = useState<Login>()
  return (
    <Card title="Where you are logged in">
      <Problem error={error} onRetry={() => void refetch()} />
      {data === undefined && error === null && <Skeleton lines={2} />}
      {data !== undefined && data.length > 0 && (
        <Table
          label="Logins"
          rows={data}
          keyOf={({ id }) => id}
          columns={[
            {
              label: 'Program',
              cell: ({ client_name, is_current }) => (
                <span className={layout['row']}>
                  {client_name} {is_current && <Tag>here</Tag>}
                </span>
              ),
            },
            { label: 'Since', nowrap: true, cell: ({ created }) => <Time value={created} /> },
            { label: 'Last used', nowrap: true, cell: ({ last_used_at }) => <Time value={last_used_at} /> },
            {
              label: 'Acts',
              end: true,
              cell: (login) => (
                <Button
                  small
                  label={`End the login in ${login.client_name}`}
                  reason={login.is_current ? 'this is where you are: log out instead' : undefined}
                  onPress={() => setEnding(login)}
                >
                  End
                </Button>
              ),
            },
          ]}
        />
      )}
      {ending !== undefined && (
        <ConfirmAct
          act="endLogin"
          input={{ login_id: ending.id }}
          confirmation={{
            title: `End the login in ${ending.client_name}?`,
            button: 'End it',
            lines: ['The program is refused from now on, until you log in there again.'],
          }}
          onClose={() => setEnding(undefined)}
        />
      )}
    </Card>
  )
}
