// An entry by its open handle: what lies below it is reached whatever happens to its name meanwhile.
import { constants } from 'node:fs'

export const as_folder = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

/** The path of an open entry, wherever it is moved meanwhile. */
export const pathOf = (handle: number) => `/proc/self/fd/${handle}`
