// The signature of a request, compared with one that Amazon has published.
import { expect, test } from 'vitest'
import { escaped, signedHeaders } from './signature.ts'

test('a list of objects is signed as the documentation of S3 shows it', () => {
  const { authorization } = signedHeaders({
    method: 'GET',
    url: new URL('https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J'),
    headers: {},
    body: '',
    keys: { id: 'AKIAIOSFODNN7EXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' },
    region: 'us-east-1',
    now: new Date('2013-05-24T00:00:00Z'),
  })
  expect(authorization).toContain('SignedHeaders=host;x-amz-content-sha256;x-amz-date')
  expect(authorization).toContain('34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7')
})

test('every sign but the four that stay is escaped', () => {
  expect(escaped("a/b c!'()*~-._")).toBe('a%2Fb%20c%21%27%28%29%2A~-._')
})
