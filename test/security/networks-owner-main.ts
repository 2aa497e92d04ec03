// The program that test/security/networks-holder.test.ts runs as an ordinary user: makes the process that holds the networks of
// the directory given as its argument, or with `end` ends it.
import { newNetworksOwner } from '#providers/local/network/owner-process.ts'

const [directory = '', verb] = process.argv.slice(2)
const holder = newNetworksOwner({ directory, effect: async () => undefined })
await (verb === 'end' ? holder.end() : holder.ensure())
