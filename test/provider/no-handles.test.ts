// A process that cannot open a file, for it or the host has no handle left: it knows nothing of other processes, and takes none for dead,
// and no WAL of a lost primary for gone.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

test('without a file handle no process is taken for one that has ended, and no WAL for gone', () => {
  const program = join(import.meta.dirname, 'no-handles-main.ts')
  const command = `ulimit -n 64; exec "$0" --disable-warning=ExperimentalWarning "$1"`
  const said = execFileSync('sh', ['-c', command, process.execPath, program], { encoding: 'utf8' })
  const refused = expect.stringContaining('EMFILE')
  expect(JSON.parse(said)).toEqual([refused, refused, refused])
})
