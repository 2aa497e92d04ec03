// The certificate by which clients verify the databases of a region.
import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newCall } from '../call.ts'
import type { TestInstallation } from '../installation.ts'
import { startWithDatabases } from './region.ts'

let installation: TestInstallation

beforeAll(async () => {
  installation = await startWithDatabases()
})

afterAll(() => installation?.stop())

test('the certificate of the installation is served without a credential', async () => {
  const answer = await newCall(installation.server.api_url, undefined)<string>('GET', '/ca.pem')
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('application/x-pem-file')
  expect(new X509Certificate(answer.body).ca).toBe(true)
})
