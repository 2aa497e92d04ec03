// Noticing the death of processes, with real ones.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Watch, newWatch } from '#providers/local/host/watch.ts'
import { until } from '#test/until.ts'

let watch: Watch
let changed: string[]
const children: ChildProcess[] = []

beforeEach(() => {
  watch = newWatch()
  changed = []
  watch.onChange((service_id) => changed.push(service_id))
})

afterEach(() => {
  watch.close()
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

function start(command: string): ChildProcess & { pid: number } {
  const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'ignore'] })
  children.push(child)
  return child as ChildProcess & { pid: number } // it has a pid because /bin/sh is everywhere
}

async function end(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  await once(child, 'exit')
}

test('a death is called back once, a living and a forgotten process never', async () => {
  const [dying, living, forgotten, last] = [1, 2, 3, 4].map(() => start('exec sleep 600'))
  for (const [id, child] of Object.entries({ dying, living, forgotten, last })) watch.track(id, child?.pid ?? 0)
  watch.forget('forgotten')
  await end(forgotten as ChildProcess)
  await end(dying as ChildProcess)
  await until(() => changed.includes('dying'))
  await end(last as ChildProcess)
  await until(() => changed.includes('last'))
  expect(changed).toEqual(['dying', 'last'])
})

test('a process that died before it was tracked is reported too', async () => {
  const child = start('exit 0')
  await once(child, 'exit')
  watch.track('early', child.pid)
  expect(changed).toEqual([])
  await until(() => changed.length > 0)
  expect(changed).toEqual(['early'])
})

test('a zombie counts as dead', async () => {
  const parent = start('sleep 0.01 & echo $!; exec sleep 600')
  const [line] = await once(parent.stdout as NodeJS.ReadableStream, 'data')
  const pid = Number(line)
  await until(() => readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z '))
  watch.track('zombie', pid)
  await until(() => changed.includes('zombie'))
})

test('another process of the same service takes the place of the first', async () => {
  const [first, second] = [start('exec sleep 600'), start('exec sleep 600')]
  watch.track('service', first.pid)
  watch.track('service', second.pid)
  const marker = start('exec sleep 600')
  watch.track('marker', marker.pid)
  await end(first)
  await end(marker)
  await until(() => changed.includes('marker'))
  expect(changed).toEqual(['marker'])
  await end(second)
  await until(() => changed.includes('service'))
})

test('a service can be tracked again after its process died', async () => {
  for (const round of [1, 2]) {
    const child = start('exec sleep 600')
    watch.track('service', child.pid)
    await end(child)
    await until(() => changed.length === round)
  }
})

test('each process of a service is watched by itself, tells the service’s name, and is forgotten with it', async () => {
  const [primary, standby, pooler] = [start('exec sleep 600'), start('exec sleep 600'), start('exec sleep 600')]
  watch.track('service', primary.pid, { urgent: true })
  watch.track('service/node-1', standby.pid, { urgent: true })
  watch.track('service/pooler', pooler.pid)
  await end(standby)
  await until(() => changed.length === 1)
  await end(pooler)
  await until(() => changed.length === 2)
  expect(changed).toEqual(['service', 'service'])
  watch.track('service/node-1', start('exec sleep 600').pid, { urgent: true })
  watch.forget('service')
  for (const child of children) child.kill('SIGKILL')
  const marker = start('exec sleep 600')
  watch.track('marker', marker.pid)
  await end(marker)
  await until(() => changed.includes('marker'))
  expect(changed).toEqual(['service', 'service', 'marker'])
})

test('a process that was stopped is called back once for each time, where others wait to take its place', async () => {
  const [urgent, other] = [start('exec sleep 600'), start('exec sleep 600')]
  watch.track('urgent', urgent.pid, { urgent: true })
  watch.track('other', other.pid)
  other.kill('SIGSTOP')
  for (const round of [1, 2]) {
    urgent.kill('SIGSTOP')
    await until(() => changed.length === round)
    urgent.kill('SIGCONT')
    // The poll that finds this one stopped has found the other going on.
    const marker = start('exec sleep 600')
    watch.track(`marker ${round}`, marker.pid, { urgent: true })
    marker.kill('SIGSTOP')
    await until(() => changed.length === round + 1)
    expect(changed.pop()).toBe(`marker ${round}`)
    watch.forget(`marker ${round}`)
  }
  expect(changed).toEqual(['urgent', 'urgent'])
})

test('a process that lives and does not answer at its socket is reported, a process that answers is not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'howdah-watch-'))
  const lines: Socket[] = []
  const [silent, speaking] = [
    createServer(),
    createServer((socket) => {
      lines.push(socket.on('error', () => undefined))
      socket.write('N')
    }),
  ]
  try {
    silent.listen(join(folder, '.s.PGSQL.1'))
    speaking.listen(join(folder, '.s.PGSQL.2'))
    await Promise.all([once(silent, 'listening'), once(speaking, 'listening')])
    const child = start('exec sleep 600')
    watch.track('speaking', child.pid, { listening: { sockets: folder, port: 2 } })
    watch.track('silent', child.pid, { listening: { sockets: folder, port: 1 } })
    await until(() => changed.includes('silent'))
    expect(changed).not.toContain('speaking')
    // What ends the connection is the end of the server, and is told at once.
    for (const line of lines) line.destroy()
    await until(() => changed.includes('speaking'))
  } finally {
    watch.close()
    for (const line of lines) line.destroy()
    silent.close()
    speaking.close()
    rmSync(folder, { recursive: true })
  }
})

test('a server whose data directory was emptied is called back although it answers', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'howdah-watch-'))
  const server = createServer((socket) => socket.on('error', () => undefined).write('N'))
  try {
    mkdirSync(join(folder, 'global'))
    writeFileSync(join(folder, 'global', 'pg_control'), '')
    server.listen(join(folder, '.s.PGSQL.1'))
    await once(server, 'listening')
    const listening = { sockets: folder, port: 1 }
    watch.track('service', start('exec sleep 600').pid, { listening, data: folder })
    rmSync(join(folder, 'global'), { recursive: true })
    await until(() => changed.includes('service'))
  } finally {
    watch.close()
    server.close()
    rmSync(folder, { recursive: true })
  }
})
