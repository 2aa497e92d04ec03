// Builds the console into dist/console: aside first and then renamed, so that a server never reads half a build.
// `--if-newer`: only where a source is newer than the last build.
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Plugin } from 'vite'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
const target = join(dist, 'console')
/** Which files there are: few to the first paint, each with all that its module imports and no file above has. */
const groups = [
  { name: 'first', test: /\/console\/first\.ts$/ },
  { name: 'react', test: /\/node_modules\/(react|react-dom|scheduler)\// },
  { name: 'main', test: /\/console\/main\.tsx$/ },
  // What a first press may open.
  { name: 'later', test: /\/console\/frame\/later\.tsx$/ },
].map((group, index) => ({ ...group, priority: 9 - index }))
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
      plugins: [slimContract(), react(), preload(), compileAll()],
      build: {
        outDir: join(aside, 'new'),
        // One sheet for all pages: small, and loaded with the first one. No file becomes a data: URL, which the policy forbids.
        cssCodeSplit: false,
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
        target: 'es2024',
        emptyOutDir: true,
        chunkSizeWarningLimit: 1000,
        rolldownOptions: { output: { codeSplitting: { groups } } },
      },
    })
    await rename(target, join(aside, 'old')).catch(() => undefined)
    await rename(join(aside, 'new'), target)
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
}

/** The first script imports the others when it runs: the page names them, so that they come at the same time. */
function preload(): Plugin {
  return {
    name: 'preload',
    transformIndexHtml: (_page, { bundle = {} }) =>
      Object.keys(bundle)
        .filter((name) => /\/(main|react|rolldown-runtime)-[^/]*\.js$/.test(name))
        .map((name) => ({ tag: 'link', attrs: { rel: 'modulepreload', crossorigin: true, href: `/console/${name}` } })),
  }
}

/** A browser compiles all functions of such a file where it reads it, beside the page, and not one by one as they are called. */
function compileAll(): Plugin {
  return {
    name: 'compile-all',
    generateBundle: {
      order: 'post',
      handler: (_options, bundle) => {
        for (const file of Object.values(bundle)) {
          if (file.type === 'chunk' && ['main', 'react'].includes(file.name))
            file.code = `//# allFunctionsCalledOnLoad\n${file.code}`
        }
      },
    },
  }
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
