// Makes action/howdah.mjs: the user's commands in one file, for the GitHub action, which installs nothing and runs the runner's own Node.
// It is made at a release and is no part of the sources. Prints its path.
import { join } from 'node:path'
import { bundleTo, root } from './bundle.mjs'

const target = join(root, 'action', 'howdah.mjs')
await bundleTo(target)
console.log(target)
