// The personal access tokens of a project: create, with the secret shown once, and revoke.
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { Token } from '#contract/token.ts'
import { useMay } from '../may.ts'
import { AsCommand } from '../part/as-command.tsx'
import { Button, RemoveButton } from '../part/button.tsx'
import { ConfirmAct } from '../confirm-act.tsx'
import { Empty, Page, Skeleton } from '../part/layout.tsx'
import { Problem } from '../part/problem.tsx'
import { Tag } from '../part/status.tsx'
import { Table } from '../part/table.tsx'
import { Time } from '../part/time.tsx'
import { q } from '../query.ts'
import { CreateToken } from './create-token.tsx'
import css from './people.module.css'

const stale_ms = 90 * 86_400_000

export function Tokens() {
  const { project_id = '' } = useParams({ strict: false })
  const may = useMay(project_id)
  const reason = may('listTokens')
  const { data, error, refetch } = useQuery({ ...q('listTokens', { project_id }), enabled: reason === undefined })
  const [creating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<Token>()
  const create = (
    <Button kind="primary" icon="plus" reason={may('createToken')} onPress={() => setCreating(true)}>
      Create a token
    </Button>
  )
  return (
    <Page title="Tokens" actions={data?.length !== 0 && create}>
      <Problem error={error} onRetry={() => void refetch()} />
      {reason !== undefined && <Empty title="Tokens are for administrators" text={reason} />}
      {reason === undefined && data === undefined && error === null && <Skeleton />}
      {data?.length === 0 && (
        <Empty title="No token yet" text="A token lets a program act in this project, within its role.">
          {create}
          <AsCommand
            command={`howdah token create ci --project ${project_id} --role developer`}
            path={`/projects/${project_id}/tokens`}
            body={{ name: 'ci', role: 'developer' }}
          />
        </Empty>
      )}
      {data !== undefined && data.length > 0 && (
        <TokenTable tokens={data} reason={may('revokeToken')} onRevoke={setRevoking} />
      )}
      {creating && <CreateToken project_id={project_id} onClose={() => setCreating(false)} />}
      {revoking !== undefined && (
        <ConfirmAct
          act="revokeToken"
          input={{ project_id, public_key: revoking.public_key }}
          confirmation={{
            title: `Revoke ${revoking.name}?`,
            button: 'Revoke',
            lines: ['Programs that use it are refused from now on.'],
          }}
          onClose={() => setRevoking(undefined)}
        />
      )}
    </Page>
  )
}

type TableProps = { tokens: readonly Token[]; reason: string | undefined; onRevoke: (token: Token) => void }

function TokenTable({ tokens, reason, onRevoke }: TableProps) {
  return (
    <Table
      label="Tokens"
      rows={tokens}
      keyOf={({ public_key }) => public_key}
      columns={[
        {
          label: 'Name',
          cell: (token) => (
            <span className={css['who']}>
              {token.name} {isStale(token) && <Tag>unused for long</Tag>}
            </span>
          ),
        },
        { label: 'Public key', cell: ({ public_key }) => <code>{public_key}</code> },
        { label: 'Role', cell: ({ role }) => role },
        { label: 'Issued by', cell: ({ issuing_user }) => issuing_user.email },
        {
          label: 'Last used',
          cell: ({ last_used_at }) => (last_used_at === undefined ? 'not yet' : <Time value={last_used_at} />),
        },
        {
          label: 'Ends',
          cell: ({ expires_at }) => (expires_at === undefined ? 'never' : <Time value={expires_at} />),
        },
        {
          label: 'Acts',
          end: true,
          cell: (token) => (
            <RemoveButton label={`Revoke ${token.name}`} reason={reason} onPress={() => onRevoke(token)} />
          ),
        },
      ]}
    />
  )
}

function isStale({ last_used_at, created }: Token): boolean {
  return Date.now() - Date.parse(last_used_at ?? created) > stale_ms
}
