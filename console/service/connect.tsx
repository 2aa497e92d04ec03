// Every way to connect: direct, pooled or to a read replica set, verified or not, as lines to copy. The password is in them while
// it is known, and otherwise comes from the environment.
import { useState } from 'react'
import {
  type Connection,
  type ConnectionChoice,
  connectionEnvironment,
  type ConnectionFormat,
  connectionLine,
  connectionOf,
} from '#contract/connection.ts'
import type { Service } from '#contract/service.ts'
import { base_path } from '#contract/api.ts'
import { CodeBlock } from '../part/copy.tsx'
import { Segments, SelectField, TextField } from '../part/field.tsx'
import { Card, Facts, layout } from '../part/layout.tsx'
import { Note } from '../part/problem.tsx'
import { usePassword } from '../secret.ts'
import { useView } from '../search.ts'
import css from './connect.module.css'
import { envText } from './env-text.ts'
import { useService } from './frame.tsx'

const ca_file = 'howdah-ca.pem'
/** Beside lines for programs the command, which knows the address and the certificate by itself. */
type Format = ConnectionFormat | 'howdah'

const languages: readonly { format: Format; title: string }[] = [
  { format: 'psql', title: 'psql' },
  { format: 'uri', title: 'URI' },
  { format: 'env', title: '.env' },
  { format: 'node', title: 'Node' },
  { format: 'postgres-js', title: 'postgres.js' },
  { format: 'prisma', title: 'Prisma' },
  { format: 'python', title: 'Python' },
  { format: 'sqlalchemy', title: 'SQLAlchemy' },
  { format: 'go', title: 'Go' },
  { format: 'jdbc', title: 'JDBC' },
  { format: 'ruby', title: 'Ruby' },
  { format: 'rust', title: 'Rust' },
  { format: 'php', title: 'PHP' },
  { format: 'pg_dump', title: 'Dump' },
  { format: 'howdah', title: 'howdah' },
]

export function Connect() {
  const service = useService()
  const known = usePassword(service.service_id)
  const [{ via = 'direct', tls = 'verify-full', as = 'psql' }, setView] = useView()
  const [ca, setCa] = useState(ca_file)
  const [typed, setTyped] = useState('')
  const password = known ?? (typed === '' ? undefined : typed)
  const ways = waysOf(service)
  const way = ways.find(({ value }) => value === via) ?? ways[0]
  const connection = way && connectionOf(service, way.choice)
  const format = languages.find((language) => language.format === as)?.format ?? 'psql'
  return (
    <div className={css['two']}>
      <Card title="How">
        <SelectField
          label="Way"
          value={way?.value ?? ''}
          options={ways}
          onChange={(value) => setView({ via: value })}
          hint={way?.about}
        />
        <Segments
          label="TLS"
          name="tls"
          value={tls}
          options={[
            { value: 'verify-full', label: 'verify-full' },
            { value: 'require', label: 'require' },
          ]}
          onChange={(value) => setView({ tls: value })}
        />
        {tls === 'verify-full' && (
          <TextField label="File with the CA certificate" value={ca} onChange={setCa} mono hint={<CaHint />} />
        )}
        {known === undefined && (
          <TextField
            label="Password, for the lines here"
            type="password"
            autoComplete="off"
            value={typed}
            onChange={setTyped}
            hint="It stays in this page. Left empty, programs take it from PGPASSWORD."
          />
        )}
      </Card>
      <div className={layout['stack']}>
        <VpcNote service={service} />
        {connection !== undefined && (
          <Lines
            {...{ service, connection, format, password, ca: tls === 'verify-full' ? ca : undefined }}
            choice={way?.choice ?? {}}
            onFormat={(value) => setView({ as: value })}
          />
        )}
      </div>
    </div>
  )
}

function CaHint() {
  return (
    <a href={`${base_path}/ca.pem`} download={ca_file}>
      Download the CA certificate
    </a>
  )
}

type LinesProps = {
  service: Service
  choice: ConnectionChoice
  connection: Connection
  format: Format
  password: string | undefined
  ca: string | undefined
  onFormat: (format: Format) => void
}

function textOf({ service, choice, connection, format, password, ca }: Omit<LinesProps, 'onFormat'>): string {
  if (format === 'env') return envText(connectionEnvironment(connection, { password, ca }))
  if (format !== 'howdah') return connectionLine(connection, format, { password, ca })
  const options = [
    choice.replica_set_id !== undefined && `--replica ${choice.replica_set_id}`,
    choice.pooled !== undefined && `--pooled=${choice.pooled}`,
  ].filter((option) => option !== false)
  return ['howdah service psql', service.service_id, `--project ${service.project_id}`, ...options].join(' ')
}

function Lines({ onFormat, ...given }: LinesProps) {
  const { connection, format } = given
  const text = textOf(given)
  return (
    <>
      <Segments
        label="As a line for"
        name="format"
        value={format}
        options={languages.map(({ format, title }) => ({ value: format, label: title }))}
        onChange={onFormat}
      />
      <CodeBlock label={`Connection for ${format}`} text={text} wrap />
      <Facts
        facts={[
          ['Host', <code key="host">{connection.host}</code>],
          ['Port', <code key="port">{connection.port}</code>],
          ['Database', <code key="database">{connection.database}</code>],
          ['User', <code key="user">{connection.user}</code>],
        ]}
      />
    </>
  )
}

function VpcNote({ service: { vpc_endpoint } }: { service: Service }) {
  if (vpc_endpoint === undefined) return null
  return (
    <Note>
      <p>
        It is in VPC {vpc_endpoint.vpc_id}: only what is in that VPC, and its active peers, get there. On the host:{' '}
        <code>howdah admin vpc exec {vpc_endpoint.vpc_id} -- psql …</code>
      </p>
    </Note>
  )
}

type Way = { value: string; label: string; about: string; choice: ConnectionChoice }

function waysOf(service: Service): Way[] {
  const ways: Way[] = [
    { value: 'direct', label: 'Direct', about: 'One session of PostgreSQL for each connection.', choice: {} },
  ]
  if (service.connection_pooler !== undefined) ways.push(...pooledWays('', 'Pooled', {}))
  for (const set of service.read_replica_sets) {
    const choice = { replica_set_id: set.id }
    ways.push({
      value: set.id,
      label: `Read replicas: ${set.name}`,
      about: 'Reads only, from the nodes of the set.',
      choice,
    })
    if (set.connection_pooler !== undefined)
      ways.push(...pooledWays(`${set.id}-`, `Read replicas: ${set.name}, pooled`, choice))
  }
  return ways
}

function pooledWays(prefix: string, label: string, choice: ConnectionChoice): Way[] {
  const session = 'A session of the pool for as long as the client is connected.'
  const transaction =
    'A session of the pool for each transaction: very many clients, and no state between transactions.'
  return [
    {
      value: `${prefix}session`,
      label: `${label} by session`,
      about: session,
      choice: { ...choice, pooled: 'session' },
    },
    {
      value: `${prefix}transaction`,
      label: `${label} by transaction`,
      about: transaction,
      choice: { ...choice, pooled: 'transaction' },
    },
  ]
}
