// The probe as a program: the wish as JSON on standard input, what was seen as JSON on standard output. It is run inside
// the network of a VPC, where the server itself cannot go.
import { text } from 'node:stream/consumers'
import { probe, type ProbeWish } from './probe.ts'

const wish = JSON.parse(await text(process.stdin)) as ProbeWish // written by service-network.ts
process.stdout.write(JSON.stringify(await probe(wish)))
