// The program that test/network/refusal.test.ts runs without privileges: what a provider below the directory given as its
// argument says about networks, as JSON.
import { hostFacts } from '#providers/local/host-facts.ts'
import { openLocalProvider } from '#providers/local/local.ts'
import type { WantedService } from '#providers/provider.ts'

const provider = await openLocalProvider({
  directory: process.argv[2] ?? '',
  installation_id: 'refused',
  host: '127.0.0.1',
  region_code: 'test',
  ports: { first: 20_000, last: 32_000 },
  postgres_directories: [],
  log: () => undefined,
})
const vpc = { vpc_id: '1000', cidr: '10.77.0.0/24', deleted: false, peers: [] }
const service: WantedService = {
  service_id: 'refused',
  generation: 1,
  deleted: false,
  power: 'on',
  size: 'shared',
  extensions: [],
  password_verifier: '',
  endpoint: await provider.newEndpoint(new Set()),
  network: { vpc_id: '1000', address: '10.77.0.2' },
  snapshots: [],
}
const facts = await hostFacts({ directory: process.argv[2] ?? '', postgres_directories: [] })
const seen = {
  doctor: facts.find(({ name }) => name === 'network namespaces'),
  refusal: await provider.networkRefusal(),
  made: await provider.applyVpc(vpc),
  deleted: await provider.applyVpc({ ...vpc, deleted: true }),
  attached: await provider.applyService(service),
}
await provider.applyService({ ...service, deleted: true })
await provider.close()
console.log(JSON.stringify(seen))
