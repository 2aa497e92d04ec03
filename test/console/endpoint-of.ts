// Which endpoint of the contract a request of a browser is for.
import { api, base_path, type EndpointName } from '#contract/api.ts'
import type { Endpoint } from '#contract/endpoint.ts'

const forms = Object.entries<Endpoint>(api).map(([name, { method, path }]) => ({
  // Object.entries forgets the names that the table's type has.
  name: name as EndpointName,
  method,
  form: new RegExp(`^${base_path}${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}))

/** Undefined for what is no endpoint, such as a file. */
export function endpointOf({ method, url }: { method: string; url: string }): EndpointName | undefined {
  const { pathname } = new URL(url)
  return forms.find((one) => one.method === method && one.form.test(pathname))?.name
}
