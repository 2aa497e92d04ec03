// A copy of the template that lies ready, so that whoever creates a service need not wait for one: on a file system that
// cannot share blocks, copying is half of the time of a create.
// 1. Nothing depends on it: where none lies ready, a create copies the template itself.
// 2. It is made aside and renamed into place whole and durable, and taken by one rename: nobody gets half of one, and no
//    two get the same.
import { rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ensureRemoved, type Effect } from '../effect.ts'
import { errorCode, statIfThere } from '../look.ts'
import { copyTree } from '../snapshot/copy-tree.ts'
import { syncTree } from '../tree.ts'
import { newAside, removeUnfinished } from './template.ts'

/** Under which it is made. */
export const spare_job = 'spare'

export async function ensureSpare(effect: Effect, template: string, signal: AbortSignal): Promise<void> {
  const spare = spareOf(template)
  if (await statIfThere(spare)) return
  await removeUnfinished(effect, dirname(template))
  const aside = await newAside(spare)
  try {
    await effect('spare: copy template')
    await copyTree(template, aside, { leave_room: true, signal })
    await effect('spare: make durable')
    await syncTree(aside)
    await effect('spare: rename into place')
    await rename(aside, spare)
  } catch (error) {
    await ensureRemoved(effect, 'unfinished spare', aside)
    // Another server was faster: the place is taken by a whole one.
    if (errorCode(error) !== 'ENOTEMPTY' && errorCode(error) !== 'EEXIST') throw error
  }
}

/** False when none lies ready. */
export async function takeSpare(template: string, to: string): Promise<boolean> {
  try {
    await rename(spareOf(template), to)
    return true
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
    throw error
  }
}

const spareOf = (template: string) => `${template}.spare`
