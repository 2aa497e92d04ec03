// Where the end of a run writes which files failed, one a line, for a second run of them: the file that TEST_FAILED names.
import { writeFileSync } from 'node:fs'
import type { Reporter } from 'vitest/node'

export const failed: Reporter = {
  onTestRunEnd(modules, errors) {
    const list = process.env['TEST_FAILED']
    if (list === undefined) return
    const files = modules.filter((module) => !module.ok()).map(({ relativeModuleId }) => relativeModuleId)
    // An error that belongs to no test cannot be looked at again.
    writeFileSync(list, errors.length > 0 ? '' : files.map((file) => `${file}\n`).join(''))
  },
}
