// Builds the console into dist/console: aside first and then renamed, so that a server never reads half a build.
// `--if-newer`: only where a source is newer than the last build.
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
const target = join(dist, 'console')
const sources = ['console', 'contract', 'package-lock.json']

if (!process.argv.includes('--if-newer') || (await isNewer())) await buildConsole()

async function buildConsole(): Promise<void> {
  // Else Vite builds what the caller's own environment says, such as React's slow one for tests.
  process.env['NODE_ENV'] = 'production'
  await mkdir(dist, { recursive: true })
  const aside = await mkdtemp(join(dist, '.console-'))
  try {
    // Only here: most starts find that nothing is to be built, and are not to pay for what builds.
    const [{ build }, { default: react }, { slimContract }] = await Promise.all([
      import('vite'),
      import('@vitejs/plugin-react'),
      import('./slim-contract.ts'),
    ])
    await build({
      configFile: false,
      root: import.meta.dirname,
      base: '/console/',
      logLevel: 'warn',
      plugins: [slimContract(), react()],
      build: {
        outDir: join(aside, 'new'),
        // One sheet for all pages: small, and loaded with the first one. No file becomes a data: URL, which the policy forbids.
        cssCodeSplit: false,
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
        target: 'es2024',
        emptyOutDir: true,
        chunkSizeWarningLimit: 1000,
        // Few files to the first paint: what every page shares is one, and each page adds its own.
        rolldownOptions: {
          output: { codeSplitting: { groups: [{ name: 'shared', test: isShared }] } },
        },
      },
    })
    await rename(target, join(aside, 'old')).catch(() => undefined)
    await rename(join(aside, 'new'), target)
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
}

/** What the first page needs. Dialogs, the palette and what one page alone needs come later. */
function isShared(id: string): boolean {
  if (/uplot|virtual|\/dialog\/|part\/(chart|confirm-dialog|dialog)|frame\/(palette|login-ended)/.test(id)) return false
  return /node_modules|\/contract\/|\/console\/(part|frame)\/|\/console\/[\w-]+\.ts$/.test(id)
}

async function isNewer(): Promise<boolean> {
  const built = await ageOf(join(target, 'index.html')).catch(() => 0)
  for (const source of sources) {
    const path = join(root, source)
    const inside = await readdir(path, { recursive: true }).catch(() => [])
    for (const name of ['', ...inside]) if ((await ageOf(join(path, name))) > built) return true
  }
  return false
}

async function ageOf(path: string): Promise<number> {
  return (await stat(path)).mtimeMs
}
