// Waits for work, but not for ever: when it is late, the log says so and the caller goes on.
import type { Log } from './log.ts'

export async function within(seconds: number, work: Promise<unknown>, log: Log, when_late: string): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<'late'>()
  const timer = setTimeout(resolve, seconds * 1000, 'late')
  try {
    if ((await Promise.race([work, late])) === 'late') log.warn({ seconds }, when_late)
  } finally {
    clearTimeout(timer)
  }
}
