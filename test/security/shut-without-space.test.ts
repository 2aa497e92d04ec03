// Attack: a tenant takes the disk to its last byte, so that there is no space left for the files by which it would be shut. Needs a small
// disk, so a root that may mount.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { nodeOf } from '#providers/local/host/layout.ts'
import { findPostmaster } from '#providers/local/postgres/process.ts'
import { ensureWrites } from '#providers/local/service/writes.ts'
import { fillDisk, freeMb, mountDisk, unmountDisk, whySkipped } from '#test/disk.ts'
import { as_root, loginTo, newWanted, settle, useWorlds } from '#test/provider/service-fixture.ts'

const directory = mkdtempSync(join(tmpdir(), 'howdah-shut-'))
chmodSync(directory, 0o711)
const disk = join(directory, 'disk')
const mounted = mountDisk(disk, 700)
const why = whySkipped(mounted)
afterAll(() => {
  if (mounted) unmountDisk(disk)
  rmSync(directory, { recursive: true, force: true })
})

const { newWorld } = useWorlds()
const shut = { writes: false, logins: false, since: new Date(), temp_file_limit: '0', archives: false } as const

test.skipIf(why)(
  `a service is shut on a disk without a byte, its sessions ended and logins refused${why}`,
  async () => {
    const world = await newWorld(disk)
    const provider = await world.open()
    const wanted = await newWanted(provider)
    await settle(provider, wanted)
    const session = await loginTo(provider, wanted)
    // The database goes on, and no watch of a provider sees the disk any more.
    await provider.close()
    fillDisk(disk, join(disk, 'filler'))

    const node = nodeOf(world.directory, wanted.service_id, wanted.home.port, as_root)
    await ensureWrites({ accessOf: () => shut, effect: async () => undefined }, node)
    expect(freeMb(disk)).toBe(0)
    await expect(session.query('select 1')).rejects.toThrow()
    await expect(loginTo(provider, wanted)).rejects.toThrow('rejects connection')
    expect((await findPostmaster(node)).postmaster?.ready).toBe(true)
  },
)
