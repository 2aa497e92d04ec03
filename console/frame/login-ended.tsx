// Over the untouched page when the login has ended. The login leads back to the same address.
import { Button } from '../part/button.tsx'
import { Dialog } from '../part/dialog.tsx'
import { layout } from '../part/layout.tsx'
import { loginPath } from '../session.ts'

export function LoginEnded({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Your login has ended" open onClose={onClose}>
      <p>Log in again to go on. You come back to this page; what you have typed here and not sent is lost then.</p>
      <div className={layout['row']}>
        <Button kind="primary" onPress={() => location.assign(loginPath())}>
          Log in
        </Button>
        <Button onPress={onClose}>Look at the page first</Button>
      </div>
    </Dialog>
  )
}
