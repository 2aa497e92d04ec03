// The requests by which tests make VPCs and move services of one installation into them and out.
import type { Vpc } from '#contract/vpc.ts'
import type { TestInstallation } from '#test/installation.ts'

/** started: the installation, once it is. */
export function newAttaching(started: () => TestInstallation) {
  const at = (service_id: string, verb: string) => `${started().services}/${service_id}/${verb}`
  const vpcs = () => `/projects/${started().project_id}/vpcs`
  return {
    vpcs,
    attach: (service_id: string, vpc_id: string) => started().call('POST', at(service_id, 'attachToVPC'), { vpc_id }),
    detach: (service_id: string, body?: object) => started().call('POST', at(service_id, 'detachFromVPC'), body),
    newVpc: async (cidr: string) =>
      (await started().call<Vpc>('POST', vpcs(), { cidr, name: 'a VPC', region_code: 'local' })).body,
  }
}
