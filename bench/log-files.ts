// Log files as PostgreSQL writes them, by the gigabyte: rotated at 100 MB, 2.3 million lines a gigabyte, times rising over
// days. One line in the middle holds the rare term.
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'

export type LogFiles = { files: string[]; lines: number; first_ms: number; last_ms: number }

/** In other letters than those it is searched with. */
export const rare_term = 'Zebra-Quagga'

const file_bytes_max = 100 * 1024 ** 2
const write_bytes = 1024 ** 2
const step_ms = 100

export function writeLogFiles(folder: string, bytes: number): LogFiles {
  const first_ms = Date.UTC(2026, 10, 1)
  const files: string[] = []
  let [written, lines, in_file] = [0, 0, Infinity]
  let file: number | undefined
  let pending = ''
  let rare_written = false
  while (written < bytes) {
    if (in_file >= file_bytes_max) {
      if (file !== undefined) closeSync(file)
      const path = join(folder, nameOf(first_ms + lines * step_ms))
      file = openSync(path, 'wx', 0o600)
      files.push(path)
      in_file = 0
    }
    while (pending.length < write_bytes) {
      const rare: boolean = !rare_written && written > bytes / 2
      rare_written ||= rare
      pending += lineOf(lines, first_ms + lines * step_ms, rare)
      lines += 1
    }
    const length = writeSync(file ?? 0, pending)
    pending = ''
    written += length
    in_file += length
  }
  if (file !== undefined) closeSync(file)
  return { files, lines, first_ms, last_ms: first_ms + (lines - 1) * step_ms }
}

/** After the moment at which it begins. */
function nameOf(begin_ms: number): string {
  const [date, time] = new Date(begin_ms).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').split('T')
  return `postgresql-${date}-${time}.json`
}

function lineOf(at: number, time_ms: number, rare: boolean): string {
  const time = new Date(time_ms).toISOString().replace('T', ' ').replace('Z', ' UTC')
  const pid = 1000 + (at % 97)
  const session = `${(0x6916_0000 + (at % 97)).toString(16)}.${pid.toString(16)}`
  const common = `{"timestamp":"${time}","user":"tsdbadmin","dbname":"tsdb","pid":${pid},"remote_host":"10.0.0.${at % 250}","remote_port":${40_000 + (at % 9_999)},"session_id":"${session}","line_num":${at % 1000},"ps":"SELECT","session_start":"2026-11-01 00:00:00 UTC","vxid":"${at % 31}/${at}","txid":0,`
  const tail = '"application_name":"psql","backend_type":"client backend","query_id":0}\n'
  if (rare) return `${common}"error_severity":"LOG","message":"the ${rare_term.toUpperCase()} was seen",${tail}`
  if (at % 50 === 0) {
    return `${common}"error_severity":"ERROR","state_code":"23505","message":"duplicate key value violates unique constraint \\"orders_pkey\\"","detail":"Key (id)=(${at}) already exists.","statement":"insert into orders (id, note) values (${at}, $1)",${tail}`
  }
  return `${common}"error_severity":"LOG","message":"duration: ${1000 + (at % 777)}.${at % 1000} ms  statement: select * from orders where id = ${at} and note like $1",${tail}`
}
