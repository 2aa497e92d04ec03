// A position of the WAL: as PostgreSQL writes it, in two halves of hexadecimal digits, and as the segment that has it, the file whose
// name is 8 digits of timeline and 16 of position. Segments are counted from the beginning of all WAL. Pure.

export function parseLsn(text: string): bigint {
  const [high = '0', low = '0'] = text.split('/')
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`)
}

export const lsnText = (lsn: bigint) =>
  [lsn >> 32n, lsn & 0xffff_ffffn].map((half) => half.toString(16).toUpperCase()).join('/')

export const segmentNumberAt = (lsn: bigint, segment_bytes: number) => Number(lsn / BigInt(segment_bytes))

export function segmentNumberOf(name: string, segment_bytes: number): number {
  const [log, low] = [name.slice(8, 16), name.slice(16, 24)].map((part) => Number.parseInt(part, 16))
  return (log ?? 0) * segmentsPerLog(segment_bytes) + (low ?? 0)
}

export function segmentNameOf(timeline: number, number: number, segment_bytes: number): string {
  const per_log = segmentsPerLog(segment_bytes)
  return [timeline, Math.floor(number / per_log), number % per_log].map(hex8).join('')
}

const segmentsPerLog = (segment_bytes: number) => 0x1_0000_0000 / segment_bytes

export const hex8 = (value: number) => value.toString(16).toUpperCase().padStart(8, '0')
