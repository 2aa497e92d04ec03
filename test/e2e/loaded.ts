// For `node --import`: writes down every module that the process loads, in the file that LOADED_FILE names.
import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const file = process.env['LOADED_FILE'] ?? ''

registerHooks({
  load: (url, context, nextLoad) => {
    appendFileSync(file, `${url}\n`)
    return nextLoad(url, context)
  },
})
