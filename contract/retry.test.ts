// Why a server does not answer, as its caller is told.
import { expect, test } from 'vitest'
import { retrying } from './retry.ts'

test.each([
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'https://here:81 speaks no TLS; is its address http://here:81?'],
  [
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'the certificate of https://here:81 is not accepted (DEPTH_ZERO_SELF_SIGNED_CERT); does NODE_EXTRA_CA_CERTS name its authority?',
  ],
  [
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'the certificate of https://here:81 is not accepted (UNABLE_TO_GET_ISSUER_CERT_LOCALLY); does NODE_EXTRA_CA_CERTS name its authority?',
  ],
  [
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'the certificate of https://here:81 is not accepted (ERR_TLS_CERT_ALTNAME_INVALID); is it in date, and made for this address?',
  ],
  ['ECONNREFUSED', 'https://here:81 does not answer; is the server running?'],
])('after %s nothing was sent, and no server is waited for', async (code, message) => {
  let attempts = 0
  const send = retrying(async () => {
    attempts += 1
    throw new TypeError('fetch failed', { cause: Object.assign(new Error('by Node'), { code }) })
  })
  await expect(send('https://here:81/projects', { method: 'GET' })).rejects.toMatchObject({
    message,
    may_have_arrived: false,
  })
  expect(attempts).toBe(3)
})
