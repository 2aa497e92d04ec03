// A tenant that broke PostgreSQL: programs that run as the service's own user, started by its own server, and what they do to
// outlive it. All of them end by themselves within minutes, should a test fail to see them ended.
import { findHostProcess, listHostProcesses, wordsOf } from '#providers/host/process.ts'
import { nodeOf } from '#providers/local/host/layout.ts'
import { withSuperuser } from '#providers/local/postgres/superuser.ts'
import type { WantedService } from '#providers/provider.ts'
import { as_root, type World } from '#test/provider/service-fixture.ts'
import { until } from '#test/until.ts'

/** In a session of its own and left by its parent. */
const away = `use POSIX; if (my $p = fork) { waitpid($p, 0); exit } setsid(); if (my $q = fork) { print "$q\\n"; exit }`
const silent = `close STDIN; close STDOUT; close STDERR;`
/** Its folder in /proc is root's from here on: PR_SET_DUMPABLE of prctl. */
const undumpable = `syscall(${process.arch === 'arm64' ? 167 : 157}, 4, 0, 0, 0, 0);`

export const hiders = {
  /** Elsewhere, under the name of a kernel's thread, and undumpable. */
  hidden: `${away} ${silent} chdir "/"; $0 = "[kworker/0:1]"; ${undumpable} sleep 600`,
  /** Only away; it still works where it was started. */
  away: `${away} ${silent} sleep 600`,
  /** Its number is another one before a reader has read the last. */
  hopping: `${away} ${silent} chdir "/"; for (1 .. 60_000) { exit if fork }`,
} as const

/** The id of the process that is left; of a process that hops, its first. */
export async function breakOut(world: World, wanted: WantedService, how: keyof typeof hiders): Promise<number> {
  const node = nodeOf(world.directory, wanted.service_id, wanted.home.port, as_root)
  const pid = await withSuperuser(node, {}, async (client) => {
    await client.query('create temp table said (line text)')
    await client.query(`copy said from program $program$perl -e '${hiders[how]}'$program$`)
    return (await client.query<{ line: string }>('select line from said')).rows[0]?.line
  })
  return Number(pid)
}

/** The same without having been forgotten: a program that its session waits for has a child elsewhere, in its own session. */
export async function breakOutBeside(world: World, wanted: WantedService): Promise<number> {
  const node = nodeOf(world.directory, wanted.service_id, wanted.home.port, as_root)
  const title = `beside-${wanted.service_id}`
  const child = `setsid(); chdir "/"; $0 = "${title}"; sleep 600`
  const program = `use POSIX; if (fork) { sleep 600 } ${silent} ${child}`
  const session = withSuperuser(node, {}, (client) =>
    client.query(`copy (select 1) to program $program$perl -e '${program}'$program$`),
  )
  session.catch(() => undefined) // its server ends under it
  return await until(async () => (await listHostProcesses()).find((one) => wordsOf(one)[0] === title)?.pid, {
    what: 'the child has its name',
  })
}

export const lives = (pid: number) => findHostProcess(pid) !== undefined
