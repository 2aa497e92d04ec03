// What a page that does the same costs at least: React alone, which asks for the projects and the services and shows their names. It is
// built as the console is, and served from the same machine beside a way to the API.
import { createServer, request } from 'node:http'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { build } from 'vite'
import { base_path } from '#contract/api.ts'
import type { TestInstallation } from '#test/installation.ts'

export type BarePage = { url: string; close(): Promise<void> }

export async function startBarePage(howdah: TestInstallation): Promise<BarePage> {
  // Where its imports find React.
  const folder = mkdtempSync(join(import.meta.dirname, '..', 'dist', '.bare-'))
  try {
    const script = await builtScript(folder, howdah)
    const files = new Map([
      [
        '/',
        {
          type: 'text/html',
          text: '<!doctype html><div id="root"></div><script type="module" src="/bare.js"></script>',
        },
      ],
      ['/bare.js', { type: 'text/javascript', text: script }],
    ])
    const server = createServer((from, back) => {
      const file = files.get(from.url ?? '/')
      if (file !== undefined) {
        back.writeHead(200, { 'content-type': file.type }).end(file.text)
        return
      }
      const on = request(howdah.server.url + (from.url ?? '/'), { headers: from.headers }, (answer) => {
        back.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(back)
      })
      on.on('error', () => back.destroy())
      on.end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo // a server that listens has one
    return {
      url: `http://127.0.0.1:${port}/`,
      close: () => new Promise((resolve) => server.close(() => resolve()).closeAllConnections()),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function builtScript(folder: string, { token, project_id }: TestInstallation): Promise<string> {
  writeFileSync(join(folder, 'bare.js'), sourceOf(token, project_id))
  await build({
    configFile: false,
    root: folder,
    logLevel: 'warn',
    mode: 'production',
    build: {
      outDir: join(folder, 'built'),
      target: 'es2024',
      rolldownOptions: { input: join(folder, 'bare.js'), output: { entryFileNames: 'bare.js' } },
    },
  })
  return readFileSync(join(folder, 'built', 'bare.js'), 'utf8')
}

const sourceOf = (token: string, project_id: string) => `
import { createElement, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
const ask = (path) =>
  fetch('${base_path}' + path, { headers: { authorization: 'Bearer ${token}' } }).then((answer) => answer.json())
function Page() {
  const [services, setServices] = useState([])
  useEffect(() => {
    Promise.all([ask('/projects'), ask('/projects/${project_id}/services')]).then(([, found]) => setServices(found))
  }, [])
  return services.map(({ service_id, name }) =>
    createElement('a', { key: service_id, href: '/services/' + service_id }, name))
}
createRoot(document.getElementById('root')).render(createElement(Page))
`
