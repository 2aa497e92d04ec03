// Passwords that were shown once and are still on screen: in this tab's memory until their panel is closed, and nowhere else.
import type { Service } from '#contract/service.ts'
import { newTold } from './part/told.ts'

const passwords = new Map<string, string>()
const { tell, useTold } = newTold()

/** Of an answer that has one, as soon as it comes: the form that asked may have been left, and the password is told once. */
export function holdPasswordOf<Answer>(answer: Answer): Answer {
  const { service_id, initial_password }: Partial<Service> = answer ?? {}
  if (service_id === undefined || initial_password === undefined) return answer
  passwords.set(service_id, initial_password)
  tell()
  return answer
}

export function dropPassword(service_id: string): void {
  passwords.delete(service_id)
  tell()
}

/** Undefined once its panel was closed. */
export function usePassword(service_id: string): string | undefined {
  return useTold(() => passwords.get(service_id))
}
