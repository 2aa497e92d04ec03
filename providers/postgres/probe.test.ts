// The probe of a server that takes connections and says nothing.
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { probe } from './probe.ts'

test('a probe that is given up before it begins waits for no answer', async () => {
  const silent = createServer()
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  onTestFinished(() => void silent.close())
  // Listening on an address, so it has a port.
  const { port } = silent.address() as AddressInfo
  const spec = { endpoint: { host: '127.0.0.1', port }, authority_pem: '', password_verifier: '' }
  const observed = await probe({ ...spec, given_up: AbortSignal.abort() })
  expect(observed).toEqual({ result: 'failed', reason: 'the server closed the connection' })
})
