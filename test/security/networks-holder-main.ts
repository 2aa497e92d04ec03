// The program that test/security/networks-holder.test.ts runs as an ordinary user: makes the process that holds the networks of
// the directory given as its argument, or with `end` ends it.
import { newNetworksHolder } from '#providers/local/network/holder.ts'

const [directory = '', verb] = process.argv.slice(2)
const holder = newNetworksHolder({ directory, effect: async () => undefined })
await (verb === 'end' ? holder.end() : holder.ensure())
