// The statement that is being written for each service, and those that were run before. In this tab's memory, so that another page of the
// service can be looked at meanwhile.

export type Written = { text: string; /** The last one first. */ earlier: readonly string[] }

const services_max = 20
const written = new Map<string, Written>()

export const writtenFor = (service_id: string): Written | undefined => written.get(service_id)

export function keepWritten(service_id: string, now: Written): void {
  written.delete(service_id)
  written.set(service_id, now)
  const [oldest] = written.keys()
  if (written.size > services_max && oldest !== undefined) written.delete(oldest)
}
