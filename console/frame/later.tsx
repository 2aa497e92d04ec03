// What the first page can do without, and a first press cannot: tips, and the code of menus, dialogs and the palette.
import '../part/dialog.tsx'
import '../part/open-menu.tsx'
import { Tips } from '../part/tips.tsx'
import './palette.tsx'

export const Later = () => <Tips />
