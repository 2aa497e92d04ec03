// The program that test/security/vpc-ranges.test.ts runs on a host of its own making: which of the ranges given as arguments
// that host refuses to VPCs, as JSON.
import { readHostUse, vpcRefusal } from '#providers/local/vpc/ranges.ts'

const ranges = { vpc_ranges: ['10.64.0.0/10'], needed_addresses: ['10.99.0.5'] }
const use = await readHostUse()
const refusals = process.argv.slice(2).map((cidr) => vpcRefusal(ranges, use, cidr))
console.log(JSON.stringify(refusals.map((refusal) => refusal ?? 'given')))
