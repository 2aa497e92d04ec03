// How far backups are, in the one file that every server and command of the installation reads.
import { type BackupState, type backupFilesOf, findState, saveState } from './backup-files.ts'

export type StateFile = { read(): Promise<BackupState>; save(change: Partial<BackupState>): Promise<void> }

/** last: as this process has read or written it; forget: another one writes it from now on. */
type OwnStateFile = StateFile & { last(): BackupState | undefined; forget(): void }

export function newStateFile(files: ReturnType<typeof backupFilesOf>): OwnStateFile {
  let state: BackupState | undefined
  let saving: Promise<unknown> = Promise.resolve()
  const read = async () => state ?? (await findState(files)) ?? { saved_at: '', services: {} }
  return {
    read,
    last: () => state,
    forget: () => {
      state = undefined
    },
    /** One at a time: both lanes write. */
    save: (change: Partial<BackupState>) => {
      const own = saving.then(async () => {
        state = { ...(await read()), ...change, saved_at: new Date().toISOString() }
        await saveState(files, state)
      })
      saving = own.catch(() => undefined)
      return own
    },
  }
}
