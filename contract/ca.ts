// The certificate authority of the installation: what clients check the certificates of services with.
import { endpoint } from './endpoint.ts'
import { text } from './schema.ts'

export const ca_endpoints = {
  getCaCertificate: endpoint({
    method: 'GET',
    path: '/ca.pem',
    summary: 'Get the certificate that clients verify services with',
    description: 'Public. Give the file to clients as `sslrootcert`, with `sslmode=verify-full`.',
    tag: 'Identity',
    access: 'public',
    success: 200,
    output: text('One certificate in PEM.', '-----BEGIN CERTIFICATE-----\nMIIB…\n-----END CERTIFICATE-----\n'),
    output_type: 'application/x-pem-file',
  }),
}
