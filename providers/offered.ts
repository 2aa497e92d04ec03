// What a region offers, or why it does not, and what is refused for that reason. Pure.
import type { Offered, Refusal } from './provider.ts'

export const offeredUnless = (reason: string | undefined): Offered =>
  reason === undefined ? { offered: true } : { offered: false, reason }

export const refusalUnless = (one: Offered, path: string): Refusal | undefined =>
  one.offered ? undefined : { path, message: one.reason }
