// Prints the Secret with which the servers of one installation begin in a cluster: its id, its certificate authority and its keys. All
// servers of the Deployment get the same, so they are one installation. Made once and kept: clients trust its authority.
//   node deploy/kubernetes/new-installation.ts | kubectl -n howdah-system create -f -
import { randomBytes } from 'node:crypto'
import { newAuthority } from '#providers/postgres/certificate.ts'
import { newId } from '#server/id.ts'

const newKey = () => `${randomBytes(32).toString('base64url')}\n`
const { certificate_pem, key_pem } = await newAuthority()
const secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'howdah-installation' },
  type: 'Opaque',
  stringData: {
    'installation-id': `${newId()}\n`,
    'secret.key': newKey(),
    'metrics-token': newKey(),
    'ca.pem': certificate_pem,
    'ca.key': key_pem,
  },
}
process.stdout.write(`${JSON.stringify(secret)}\n`)
