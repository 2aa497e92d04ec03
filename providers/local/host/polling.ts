// The skeleton of every watch: a pass that is repeated while there is something to watch. Its timer keeps no process alive.

type Polling = { set(on: boolean): void }

/** Off at first. The next pass begins this long after the end of the one before: no two are under way at once. */
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
      // A waiting poll is not begun anew: repeated calls would postpone it for ever.
      if (on && timer === undefined) wait()
      if (on) return
      clearTimeout(timer)
      timer = undefined
    },
  }
}
