// The ids in paths: their form, and what is said when there is no such thing. A malformed id is an unknown one, and says
// nothing more. One row for each name that the contract's paths use; all other names have the common form.
import {
  unknown_member,
  unknown_peering,
  unknown_project,
  unknown_replica_set,
  unknown_service,
  unknown_token,
  unknown_vpc,
} from '#contract/fault.ts'
import { id_form } from '../id.ts'
import { public_key_form } from '../identity/token.ts'

/** Of ids that are numbers: few enough digits to be exact. */
export const number_form = /^[1-9]\d{0,14}$/

const rows: Readonly<Record<string, { form: RegExp; unknown: string }>> = {
  project_id: { form: id_form, unknown: unknown_project },
  service_id: { form: id_form, unknown: unknown_service },
  replica_set_id: { form: id_form, unknown: unknown_replica_set },
  user_id: { form: number_form, unknown: unknown_member },
  vpc_id: { form: number_form, unknown: unknown_vpc },
  peering_id: { form: number_form, unknown: unknown_peering },
  public_key: { form: public_key_form, unknown: unknown_token },
}

export function isPathId(name: string, id: string): boolean {
  return (rows[name]?.form ?? id_form).test(id)
}

export function unknownPathId(name: string): string {
  return rows[name]?.unknown ?? 'no such thing exists'
}
