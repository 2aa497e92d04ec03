// Leaves nothing behind: what a bench makes is undone when its work ends, fails, or is interrupted.
// Undoing is synchronous on purpose, so that the very same code can run while the process exits.

/** Runs the work, then the undoing, exactly once; also when the process is told to end in the middle. */
export async function withCleanup<T>(undo: () => void, work: () => Promise<T>): Promise<T> {
  // The latest is undone first: a server before the mount that it lives on.
  process.prependOnceListener('exit', undo)
  if (process.listenerCount('SIGINT', interrupted) === 0) process.on('SIGINT', interrupted).on('SIGTERM', interrupted)
  try {
    return await work()
  } finally {
    process.off('exit', undo)
    undo()
  }
}

function interrupted(): void {
  process.exit(130)
}
