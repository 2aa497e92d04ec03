// The program that test/network/refusal.test.ts runs without privileges: what a provider below the directory given as its
// argument says about networks, as JSON.
import { hostFacts } from '#providers/local/host-facts.ts'
import { openLocalProvider } from '#providers/local/local.ts'
import { newEndpoint } from '#test/addresses.ts'
import { newServicePorts } from '#test/ports.ts'
import { until } from '#test/until.ts'
import type { WantedService } from '#providers/provider.ts'

const provider = await openLocalProvider({
  directory: process.argv[2] ?? '',
  installation_id: 'refused',
  host: '127.0.0.1',
  ports: newServicePorts(),
  postgres_directories: [],
  log: () => undefined,
})
const vpc = { vpc_id: '1000', cidr: '10.77.0.0/24', deleted: false, peers: [] }
const service: WantedService = {
  service_id: 'refused',
  project_id: 'refused',
  generation: 1,
  deleted: false,
  power: 'on',
  size: 'shared',
  extensions: [],
  password_verifier: '',
  home: await newEndpoint(provider),
  reach: { host: '10.77.0.2', port: 5432 },
  vpc_id: '1000',
  snapshots: [],
}
const facts = await hostFacts({ directory: process.argv[2] ?? '', postgres_directories: [] })
const { vpcs } = await until(() => !provider.facts().vpcs.offered && provider.facts())
const observed = {
  doctor: facts.find(({ name }) => name === 'network namespaces'),
  refusal: vpcs.offered ? undefined : vpcs.reason,
  made: await provider.vpc.apply(vpc),
  deleted: await provider.vpc.apply({ ...vpc, deleted: true }),
  attached: await provider.service.apply(service),
}
await provider.service.apply({ ...service, deleted: true })
await provider.close()
console.log(JSON.stringify(observed))
