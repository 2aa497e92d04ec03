// The colours and type of every page that this server answers with, in the console or outside it: one style sheet for all.
import { readFileSync } from 'node:fs'

export const tokens_css = readFileSync(new URL('../../console/style/tokens.css', import.meta.url), 'utf8')
