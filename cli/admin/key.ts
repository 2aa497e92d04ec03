// howdah admin key rotate: a new key signs access tokens from now on. By itself that happens every 30 days; this is for an
// operator who does not want to wait, or fears that the key has leaked.
import { openInstallation } from '#server/installation.ts'
import type { OperatorCommand } from '../operator-command.ts'
import { withStore } from '../store.ts'

export const keyRotate: OperatorCommand = {
  name: 'admin key rotate',
  summary: 'Sign access tokens with a new key.',
  details:
    'Servers take it up within five seconds. Tokens of the old key are valid until they expire, so every login stays.',
  options: {
    'distrust-old': { description: 'Believe nothing more that older keys signed; programs refresh their tokens then.' },
  },
  run: async ({ config, isSet }) => {
    await withStore(config, async (db) => {
      const { removeRetiredKeys, rotateKey } = await import('#server/oauth/keys.ts')
      const { openSecret } = await import('#server/secret.ts')
      const { installation_id, data_dir } = await openInstallation(config.data_dir)
      const place = { db, installation_id, secret: await openSecret(data_dir) }
      const { kid } = await rotateKey(place, 'at once')
      console.log(`Key ${kid} signs from now on.`)
      if (isSet('distrust-old')) console.log(`Older keys removed: ${await removeRetiredKeys(place)}.`)
    })
  },
}
