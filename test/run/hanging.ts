// A test that hangs with as much as a test can have: a server in its process and one beside it, services, networks, a mount, a killed
// postmaster. Only test/run/run.test.ts runs it, to end the run in the middle; it says by a file how far it has come.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'vitest'
import { newServicePorts } from '#test/ports.ts'
import { startInstallation } from '#test/installation.ts'
import { newVpc, settleVpc } from '#test/network/vpc-fixture.ts'
import { as_root, postmasterPid, useWorlds } from '#test/provider/service-fixture.ts'
import { newSeededDataDir } from '#test/seed.ts'
import { startServerProcess } from '#test/server-process.ts'

const { newService } = useWorlds()

test('hangs', async () => {
  const howdah = await startInstallation()
  await howdah.createService({ cpu_millis: 'shared' })
  await startServerProcess({ data_dir: await newSeededDataDir(), service_ports: newServicePorts() })
  const { world, provider, wanted: service } = await newService({ size: 'shared' })
  await provider.close()
  if (as_root) {
    await settleVpc(provider, newVpc('1000', '10.77.0.0/24'))
    mountDisk()
  }
  const killed_pid = await postmasterPid(world, service)
  process.kill(killed_pid, 'SIGKILL')
  const { installation_id } = world
  const killed_uid = statSync(join(world.directory, 'services', service.service_id, 'data')).uid
  const started = { folder: tmpdir(), installation_id, killed_pid, killed_uid }
  writeFileSync(process.env['TEST_STARTED'] ?? '', JSON.stringify(started))
  await new Promise(() => undefined)
})

/** Where mounting is not permitted there is nothing to unmount. */
function mountDisk(): void {
  const folder = mkdtempSync(join(tmpdir(), 'howdah-mounted-'))
  chmodSync(folder, 0o711)
  mkdirSync(join(folder, 'disk'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', 'howdah-test', join(folder, 'disk')], { stdio: 'ignore' })
  } catch {}
}
