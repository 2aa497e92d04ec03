// What is asked before what cannot be taken back, in the one dialog for it. Its code comes when it is asked for.
import { onDemand } from './on-demand.tsx'

export const Confirm = onDemand(async () => (await import('./confirm-dialog.tsx')).ConfirmDialog)
