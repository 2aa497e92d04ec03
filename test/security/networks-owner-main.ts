// The program that test/security/networks-owner.test.ts runs as an ordinary user: makes the process that owns the networks of
// the directory given as its argument, or with `end` ends it.
import { newNetworksOwner } from '#providers/local/network/owner-process.ts'

const [directory = '', verb] = process.argv.slice(2)
const owner = newNetworksOwner({ directory, effect: async () => undefined })
await (verb === 'end' ? owner.end() : owner.ensure())
