// The link with which an invited member chooses a password: made by a button, shown once, handed over by the administrator.
import { useState } from 'react'
import type { Member } from '#contract/member.ts'
import { useMay } from '../may.ts'
import { Button } from '../part/button.tsx'
import { CopyButton } from '../part/copy.tsx'
import { Dialog } from '../part/dialog.tsx'
import { layout } from '../part/layout.tsx'
import { Problem } from '../part/problem.tsx'
import { useAct } from '../query.ts'
import css from './people.module.css'

export function LoginLinkButton({ project_id, member }: { project_id: string; member: Member }) {
  const [url, setUrl] = useState<string>()
  const { mutate, isPending, error, reset } = useAct('createLoginLink')
  const may = useMay(project_id)
  const make = () => mutate({ project_id, user_id: member.user_id }, { onSuccess: (link) => setUrl(link.url) })
  return (
    <>
      <Button small reason={may('createLoginLink')} pending={isPending} onPress={make}>
        Login link
      </Button>
      <Dialog title={`No link for ${member.name}`} open={error !== null} onClose={reset}>
        <Problem error={error} />
      </Dialog>
      <Dialog title={`A login link for ${member.name}`} open={url !== undefined} onClose={() => setUrl(undefined)}>
        <p>
          It lets its bearer choose the password of {member.email}, once, within a day. Hand it over with care; it is
          not shown again.
        </p>
        <code className={css['secret']}>{url}</code>
        <div className={layout['row']}>
          <CopyButton text={url ?? ''} label="Copy the link" />
          <Button small onPress={() => setUrl(undefined)}>
            Close
          </Button>
        </div>
      </Dialog>
    </>
  )
}
