// How far a long step is, on stderr: one line that is written over in a terminal; elsewhere a line now and then, for logs.
const in_terminal = process.stderr.isTTY
const look_ms = in_terminal ? 200 : 1000
const log_every_ms = 10_000

/** Shows what `look` says until the work has ended, and passes on how it ended. */
export async function withProgress(title, look, work) {
  console.error(`Howdah: ${title} …`)
  const begun = Date.now()
  let logged = begun
  const show = () => {
    const line = `  ${look()}, ${Math.round((Date.now() - begun) / 1000)} s`
    if (in_terminal) process.stderr.write(`\r\u001B[K${line}`)
    else if (Date.now() - logged >= log_every_ms) {
      logged = Date.now()
      console.error(line)
    }
  }
  const timer = setInterval(show, look_ms)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    if (in_terminal) process.stderr.write('\r\u001B[K')
  }
}
