// The skeleton of every watch: a pass that is repeated while there is something to watch. It keeps no process from ending.

export type Polling = { set(on: boolean): void }

/** Off at first. The next pass begins so long after the one before has ended: no two are under way at once. */
export function newPolling(every_ms: number, pass: () => void | Promise<void>): Polling {
  let timer: NodeJS.Timeout | undefined
  const wait = () => {
    timer = setTimeout(() => void turn(timer), every_ms).unref()
  }
  const turn = async (own: NodeJS.Timeout | undefined) => {
    await pass()
    // Else it was switched off meanwhile, and perhaps on again.
    if (timer === own) wait()
  }
  return {
    set(on) {
      // One that is on is not begun anew: it might never come to a pass.
      if (on && timer === undefined) wait()
      if (on) return
      clearTimeout(timer)
      timer = undefined
    },
  }
}
