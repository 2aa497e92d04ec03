// A place in the WAL, as PostgreSQL writes it: two halves in hexadecimal digits. Pure.

export function parseLsn(text: string): bigint {
  const [high = '0', low = '0'] = text.split('/')
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`)
}

export const lsnText = (lsn: bigint) => [lsn >> 32n, lsn & 0xffff_ffffn].map(hex).join('/')

const hex = (half: bigint) => half.toString(16).toUpperCase()
