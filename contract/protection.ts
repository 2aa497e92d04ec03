// How well a service is protected: what of it can be restored, and what of that is off the machine and was tried out.
import { integer, moment, text } from './schema.ts'
import { Type } from './type.ts'

export const Protection = Type.Object(
  {
    restorable_from: Type.Optional(moment('The oldest moment that a fork can start from; absent: none yet.')),
    restorable_until: Type.Optional(moment('The newest one; absent: this moment.')),
    last_snapshot_at: Type.Optional(moment('The moment of its newest snapshot.')),
    last_backup_at: Type.Optional(
      moment('The moment of the newest snapshot that is off the machine; absent: none is, or there are no backups.'),
    ),
    backup_lag_seconds: Type.Optional(
      integer('Seconds of its latest commits that are not off the machine yet; absent: there are no backups.', 12),
    ),
    backup_problem: Type.Optional(
      text(
        'Why its latest commits do not get off the machine now; absent: they do.',
        'there is no repository in /mnt/nas/howdah; check that its disk is mounted',
      ),
    ),
    last_proven_restorable_at: Type.Optional(
      moment('When a restore of it was last tried out and found right; absent: none yet.'),
    ),
    last_drill_error: Type.Optional(
      text('Why the last one failed; absent: it did not.', 'the WAL file 000000010000000000000004 is missing'),
    ),
  },
  { description: 'What of the service survives a slip of a hand, and what the loss of the machine.' },
)
