// A provider that dies at a chosen effect inside the test's own process: the effect throws, and so does every one after it, so
// nothing of the world changes any more. It costs a fraction of a process that is killed, which a sample of the same is
// (test/crash/every-effect.test.ts).
import type { LocalProvider } from '#providers/local/local.ts'
import type { World } from './service-fixture.ts'

export type DyingProvider = { provider: LocalProvider; effects: readonly string[]; isDead: () => boolean }

/** The death of a process ends its holds by itself. */
const ends_with_the_process = 'hold: remove'

/** `nth`: of the effects of this name; without a name it lives, and tells its effects. */
export async function openDying(world: World, name?: string, nth = 1): Promise<DyingProvider> {
  const effects: string[] = []
  let left = nth
  let dead = false
  const provider = await world.open({
    effect: (effect) => {
      if (effect === name && --left === 0) dead = true
      if (dead && effect !== ends_with_the_process) throw new Error(`it died at: ${name} (${nth})`)
      effects.push(effect)
    },
  })
  return { provider, effects, isDead: () => dead }
}
