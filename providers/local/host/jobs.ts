// Long work that goes on between two passes, such as a copy of a whole database. It runs inside this process under a name
// that every pass derives anew, so a pass that finds it under way leaves it alone.
// It is never the truth: what a job has made is found in the file system, and a killed job is begun again.

export type Jobs = {
  /** Begins the work unless it is under way. A later `ensure` returns how it ended. */
  begin(name: string, work: (signal: AbortSignal) => Promise<void>): void
  /** Begins the work unless it is under way, and waits a little for its end. Its failure is thrown, to one caller. */
  ensure(name: string, work: (signal: AbortSignal) => Promise<void>): Promise<'done' | 'under way'>
  /** Whether the work is under way, or has failed and no caller knows yet. */
  isKnown(name: string): boolean
  /** Waits a little for the end of work that is under way. How it ended is for callers of `ensure`. */
  wait(name: string): Promise<void>
  /** Called with the service's id when work ends that `ensure` reported as under way: a pass has something to do. */
  onEnd(listen: (service_id: string) => void): void
  /** Aborts every job of a service and waits until none goes on. */
  end(service_id: string): Promise<void>
  close(): Promise<void>
}

type Outcome = { error?: unknown }
type Job = { breaking_off: AbortController; ended: Promise<Outcome>; awaited: boolean }

/** Small databases are copied within it, so that one pass is enough for them. */
const wait_ms = 2_000

/** A job's name is `<service id>/<what>`. */
export function newJobs(): Jobs {
  const jobs = new Map<string, Job>()
  const listeners: ((service_id: string) => void)[] = []

  const tell = (service_id: string) => {
    for (const listen of listeners) listen(service_id)
  }

  const begin = (name: string, work: (signal: AbortSignal) => Promise<void>): Job => {
    const breaking_off = new AbortController()
    const ended = work(breaking_off.signal).then(
      (): Outcome => {
        // Success shows on the disk; only a failure is kept for the next `ensure`.
        jobs.delete(name)
        return {}
      },
      (error: unknown): Outcome => ({ error }),
    )
    const job: Job = { breaking_off, ended, awaited: false }
    jobs.set(name, job)
    void ended.then(() => job.awaited && tell(name.split('/')[0] ?? name))
    return job
  }

  const endAll = async (chosen: (name: string) => boolean) => {
    const ending = [...jobs].filter(([name]) => chosen(name))
    for (const [, job] of ending) {
      job.awaited = false
      job.breaking_off.abort(new Error('broken off'))
    }
    for (const [name, job] of ending) {
      await job.ended
      // Another one may have begun under its name, while those before it in this list were waited for.
      if (jobs.get(name) === job) jobs.delete(name)
    }
  }

  return {
    begin: (name, work) => {
      if (!jobs.has(name)) begin(name, work)
    },
    async ensure(name, work) {
      const job = jobs.get(name) ?? begin(name, work)
      const outcome = await withinWait(job.ended)
      if (outcome === undefined) {
        job.awaited = true
        return 'under way'
      }
      jobs.delete(name)
      if ('error' in outcome) throw outcome.error
      return 'done'
    },
    isKnown: (name) => jobs.has(name),
    async wait(name) {
      const job = jobs.get(name)
      if (job) await withinWait(job.ended)
    },
    onEnd: (listen) => void listeners.push(listen),
    end: (service_id) => endAll((name) => name.startsWith(`${service_id}/`)),
    close: () => endAll(() => true),
  }
}

async function withinWait(ended: Promise<Outcome>): Promise<Outcome | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(resolve, wait_ms, undefined)
  try {
    return await Promise.race([ended, late])
  } finally {
    clearTimeout(timer)
  }
}
