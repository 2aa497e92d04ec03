// The password of a new service, shown once: with what to do with it, until its reader says that it is kept. It is not shown again.
import { useState } from 'react'
import type { Service } from '#contract/service.ts'
import { connectionEnvironment, connectionOf } from '#contract/connection.ts'
import { Button } from '../part/button.tsx'
import { CopyButton } from '../part/copy.tsx'
import { saveFile } from '../part/save-file.ts'
import { KeepIt } from '../part/keep-it.tsx'
import { layout } from '../part/layout.tsx'
import { dropPassword, usePassword } from '../secret.ts'
import { envText } from './env-text.ts'
import css from './password-panel.module.css'

export function PasswordPanel({ service }: { service: Service }) {
  const password = usePassword(service.service_id)
  return password === undefined ? null : <Shown service={service} password={password} />
}

function Shown({ service, password }: { service: Service; password: string }) {
  const [has_it, setHasIt] = useState(false)
  const { endpoint, service_id } = service
  const connection = connectionOf(service)
  return (
    <section className={css['panel']} aria-label="The password, shown once">
      <h2>The password of tsdbadmin</h2>
      <p>It is shown this once: only its verifier is stored. If it is lost, a new one can be set at any time.</p>
      <code className={css['secret']} data-testid="password">
        {password}
      </code>
      <div className={layout['row']}>
        <CopyButton text={password} label="Copy the password" />
        <CopyButton
          text={`${endpoint.host}:${endpoint.port}:tsdb:tsdbadmin:${password.replaceAll(/[\\:]/g, String.raw`\$&`)}`}
          label="Copy a line for ~/.pgpass"
        />
        {connection !== undefined && (
          <Button
            small
            icon="download"
            onPress={() => saveFile(`${service.name}.env`, envText(connectionEnvironment(connection, { password })))}
          >
            Download .env
          </Button>
        )}
      </div>
      <KeepIt
        what="password"
        has_it={has_it}
        onHasIt={setHasIt}
        onClose={() => dropPassword(service_id)}
        isShownAt={(pathname) => pathname.includes(service_id)}
      />
    </section>
  )
}
