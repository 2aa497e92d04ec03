// The certificate by which clients verify the databases of a region.
import { X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import { shared } from '#test/shared.ts'
import { newCall } from '../call.ts'
import { startWithDatabases } from './region.ts'

const installation = shared(startWithDatabases)

test('the certificate of the installation is served without a credential', async () => {
  const answer = await newCall(installation.server.api_url, undefined)<string>('GET', '/ca.pem')
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('application/x-pem-file')
  expect(new X509Certificate(answer.body).ca).toBe(true)
})
