// The instructions of the scanner, written out: a function that looks at sixteen bytes a step, in two forms, and the few
// bytes of WebAssembly around it. The names are those of the specification, with their codes.

/**
 * Where (byte | fold) is the first value, and so is the second one `distance` later, or earlier; at or after `start`, -1 for
 * none.
 */
export type FindPair = (
  start: number,
  end: number,
  distance: number,
  first: number,
  first_fold: number,
  second: number,
  second_fold: number,
) => number

const i32 = 0x7f
const v128 = 0x7b
const op = {
  block: [0x02, 0x40],
  loop: [0x03, 0x40],
  if: [0x04, 0x40],
  end: [0x0b],
  br: (depth: number) => [0x0c, depth],
  br_if: (depth: number) => [0x0d, depth],
  return: [0x0f],
  get: (local: number) => [0x20, local],
  set: (local: number) => [0x21, local],
  tee: (local: number) => [0x22, local],
  constant: (value: number) => [0x41, ...signedLeb(value)],
  ge_u: [0x4f],
  ctz: [0x68],
  add: [0x6a],
  load: (offset: number) => [0xfd, 0x00, 0x00, offset],
  splat: [0xfd, 0x0f],
  equal: [0xfd, 0x23],
  and: [0xfd, 0x4e],
  or: [0xfd, 0x50],
  any_true: [0xfd, 0x53],
  bitmask: [0xfd, 0x64],
}

// Locals: the seven parameters, then the four bytes spread over sixteen lanes, then a mask.
const [start, end, distance] = [0, 1, 2]
const spread = 7
const mask = 11

/** Which of the sixteen places from `start + offset` on have the first byte. */
const firstsAt = (offset: number): number[] =>
  [op.get(start), op.load(offset), op.get(spread + 1), op.or, op.get(spread), op.equal].flat()

/** Which of them have the pair. */
const pairsAt = (offset: number): number[] =>
  [
    firstsAt(offset),
    [op.get(start), op.get(distance), op.add, op.load(offset), op.get(spread + 3), op.or, op.get(spread + 2), op.equal],
    [op.and],
  ].flat(2)

/** `roughly`: what is looked for in sixty-four places at once, before they are looked at sixteen by sixteen. */
const bodyOf = (roughly: (offset: number) => number[]): number[] =>
  [
    [0, 1, 2, 3].flatMap((value) => [op.get(3 + value), op.splat, op.set(spread + value)]),
    [op.block, op.loop],
    [op.get(start), op.get(end), op.ge_u, op.br_if(1)],
    [op.block],
    [roughly(0), roughly(16), op.or, roughly(32), op.or, roughly(48), op.or],
    [op.any_true, op.br_if(0)],
    [op.get(start), op.constant(64), op.add, op.set(start), op.br(1)],
    [op.end],
    [pairsAt(0), op.bitmask, op.tee(mask)],
    [op.if, op.get(start), op.get(mask), op.ctz, op.add, op.return, op.end],
    [op.get(start), op.constant(16), op.add, op.set(start), op.br(0)],
    [op.end, op.end, op.constant(-1), op.end],
  ].flat(2)

const codeOf = (body: readonly number[]): number[] => sized([2, 4, v128, 1, i32, ...body])

/** Imports `host.memory` and exports `findPair`, and `findRare`: the same, faster where the first byte is rare. */
export const pair_finder = new WebAssembly.Module(
  Uint8Array.from(
    [
      [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
      section(1, [1, 0x60, 7, ...Array<number>(7).fill(i32), 1, i32]),
      section(2, [1, ...nameOf('host'), ...nameOf('memory'), 2, 0, 1]),
      section(3, [2, 0, 0]),
      section(7, [2, ...nameOf('findPair'), 0, 0, ...nameOf('findRare'), 0, 1]),
      section(10, [2, ...codeOf(bodyOf(pairsAt)), ...codeOf(bodyOf(firstsAt))]),
    ].flat(),
  ),
)

function section(id: number, content: readonly number[]): number[] {
  return [id, ...sized(content)]
}

function sized(content: readonly number[]): number[] {
  return [...leb(content.length), ...content]
}

function nameOf(text: string): number[] {
  return sized([...Buffer.from(text)])
}

/** Whole numbers as the format writes them: seven bits a byte, the lowest first. */
function leb(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...leb(value >>> 7)]
}

function signedLeb(value: number): number[] {
  return value >= -0x40 && value < 0x40 ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...signedLeb(value >> 7)]
}
