// howdah mcp install in the folders of agents' programs; and that no program pays for MCP that does not use it.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { howdahHere } from '#test/cli/user.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { importsOf, production } from '#test/sources.ts'

const row = 'claude-code|cursor|vscode|codex'

function newHome(): string {
  const home = newDataDir()
  onTestFinished(() => removeDataDir(home))
  onTestFinished(() => void vi.unstubAllEnvs())
  vi.stubEnv('HOME', home)
  return home
}

test('an entry is added beside what there is, once, after its user has agreed', async () => {
  const file = join(newHome(), '.cursor', 'mcp.json')
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, JSON.stringify({ mcpServers: { other: { command: 'x' } } }))
  expect((await howdahHere(['mcp', 'install', 'cursor'])).code).toBe(2)
  expect((await howdahHere(['mcp', 'install', 'cursor'], ['n'])).code).not.toBe(0)
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ mcpServers: { other: { command: 'x' } } })
  const added = await howdahHere(['mcp', 'install', 'cursor', '--write', '--project', 'shop'], ['y'])
  expect([added.code, added.stderr]).toEqual([0, expect.stringContaining('+ ')])
  expect(JSON.parse(readFileSync(file, 'utf8')).mcpServers).toEqual({
    other: { command: 'x' },
    howdah: { command: expect.stringMatching(/bin\/howdah$/), args: ['mcp', '--write', '--project', 'shop'] },
  })
  const again = await howdahHere(['mcp', 'install', 'cursor', '--write', '--project', 'shop', '--yes'])
  expect(again.stderr).toContain('has it already')
})

test('a table is added to TOML, and replaced; a file with comments in JSON is left alone', async () => {
  const home = newHome()
  const file = join(home, '.codex', 'config.toml')
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, 'model = "m"\n[mcp_servers.other]\ncommand = "x"\n')
  await howdahHere(['mcp', 'install', 'codex', '--yes'])
  await howdahHere(['mcp', 'install', 'codex', '--yes', '--write'])
  const text = readFileSync(file, 'utf8')
  expect(text).toMatch(
    /^model = "m"\n\[mcp_servers.other\]\ncommand = "x"\n\[mcp_servers.howdah\]\ncommand = ".*howdah"\nargs = \["mcp","--write"\]\n$/,
  )
  const commented = join(home, '.cursor', 'mcp.json')
  mkdirSync(join(commented, '..'), { recursive: true })
  writeFileSync(commented, '// mine\n{}')
  expect(await howdahHere(['mcp', 'install', 'cursor', '--yes'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('by hand'),
  })
  expect(await howdahHere(['mcp', 'install', row, '--yes'])).toMatchObject({ code: 2 })
})

test('what speaks the protocol is loaded by the first agent, and by nothing else', () => {
  const users = production.filter((source) =>
    importsOf(source).some((target) => target.startsWith('@modelcontextprotocol/')),
  )
  expect(users.map(({ path }) => path)).toEqual(['mcp/http.ts', 'mcp/server.ts', 'mcp/stdio.ts'])
  const loaders = production.filter((source) =>
    importsOf(source).some(
      (target) =>
        /(#mcp|\.)\/(http|server|stdio)\.ts$/.test(target) && (target.startsWith('#mcp') || source.folder === 'mcp'),
    ),
  )
  expect(loaders.map(({ path }) => path)).toEqual(['mcp/http.ts', 'mcp/stdio.ts'])
})
