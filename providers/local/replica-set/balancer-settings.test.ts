// The text that the balancer reads.
import { expect, test } from 'vitest'
import { balancerSettingsOf, type BalancerSpec } from './balancer-settings.ts'

const spec: BalancerSpec = {
  listen: { host: '127.0.0.1', port: 5_501 },
  sockets: '/data/local/run/abc',
  nodes: [0, 1].map((node) => ({
    node,
    sockets: `/data/local/run/abc.${node}`,
    address: { host: `127.100.0.${node + 1}`, port: 5_501 },
  })),
  connections_max: 200,
  prefix: [],
}

test('the settings carry their own hash, and another spec has another', () => {
  const { text, hash } = balancerSettingsOf(spec)
  expect(text).toContain(`description ${hash}\n`)
  expect(balancerSettingsOf(spec).hash).toBe(hash)
  const others: BalancerSpec[] = [
    { ...spec, connections_max: 300 },
    { ...spec, nodes: spec.nodes.slice(1) },
    { ...spec, prefix: ['nsenter', '--net=/run/netns/x', '--'] },
    { ...spec, listen: { host: '127.0.0.1', port: 5_502 } },
  ]
  for (const other of others) expect(balancerSettingsOf(other).hash).not.toBe(hash)
})

test('clients reach the nodes by TCP, the pooler by unix sockets, and both lists know which are healthy', () => {
  const { text } = balancerSettingsOf(spec)
  expect(text).toContain('bind 127.0.0.1:5501\n')
  expect(text).toContain('bind unix@/data/local/run/abc/.s.PGSQL.5501 mode 600\n')
  expect(text).toContain('server node_1 unix@/data/local/run/abc.1/.s.PGSQL.5501 check\n')
  expect(text).toContain('server node_1 127.100.0.2:5501 track nodes/node_1\n')
})

test('a directory with blanks and quotes in its name stays one word', () => {
  const { text } = balancerSettingsOf({ ...spec, sockets: `/my data/it's` })
  expect(text).toContain(String.raw`stats socket /my\ data/it\'s/balancer mode 600`)
})
