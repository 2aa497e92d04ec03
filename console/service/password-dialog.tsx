// Sets another master password: made by the browser, or typed.
import { useState } from 'react'
import type { Service } from '#contract/service.ts'
import { Button } from '../part/button.tsx'
import { CopyButton } from '../part/copy.tsx'
import { Consequences, FormDialog } from '../part/dialog.tsx'
import { TextField } from '../part/field.tsx'
import { layout } from '../part/layout.tsx'
import { problemAt } from '../part/problem.tsx'
import { toast } from '../part/toast.tsx'
import { useAct } from '../query.ts'

const generated_bytes = 24
const characters_min = 8

export function PasswordDialog({ service, onClose }: { service: Service; onClose: () => void }) {
  const [password, setPassword] = useState(newPassword)
  const { mutate, isPending, error } = useAct('updatePassword')
  const { project_id, service_id } = service
  const onSuccess = () => {
    onClose()
    toast('The password is set')
  }
  return (
    <FormDialog
      title={`Set the password of ${service.name}`}
      onClose={onClose}
      submit="Set the password"
      pending={isPending}
      error={error}
      shown_elsewhere={['/password']}
      reason={password.length < characters_min ? `at least ${characters_min} characters` : undefined}
      onSubmit={() => mutate({ project_id, service_id, body: { password } }, { onSuccess })}
    >
      <TextField
        label="New password of tsdbadmin"
        value={password}
        onChange={setPassword}
        mono
        autoComplete="new-password"
        problem={problemAt(error, '/password')}
      />
      <div className={layout['row']}>
        <CopyButton text={password} label="Copy the password" />
        <Button small onPress={() => setPassword(newPassword())}>
          Make another
        </Button>
      </div>
      <Consequences
        lines={['From now on new logins need it; the old one stops working.', 'It is shown here only. Copy it first.']}
      />
    </FormDialog>
  )
}

function newPassword(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(generated_bytes))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
}
