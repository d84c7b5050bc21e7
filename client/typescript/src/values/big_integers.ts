/** Integers beyond 64 bits: two's complement, little-endian, of any length. */

export function fromTwosComplement(bytes: Uint8Array): bigint {
  if (bytes.length === 0) return 0n;
  const hex = Buffer.from(bytes).reverse().toString("hex");
  return BigInt.asIntN(8 * bytes.length, BigInt(`0x${hex}`));
}

export function toTwosComplement(value: bigint): Uint8Array {
  const magnitude = value < 0n ? -value - 1n : value;
  const bits = magnitude.toString(2).length + 1;
  const size = Math.ceil(bits / 8);
  const hex = BigInt.asUintN(8 * size, value)
    .toString(16)
    .padStart(2 * size, "0");
  return new Uint8Array(Buffer.from(hex, "hex").reverse());
}

const LOWEST = -(2n ** 63n);
const HIGHEST = 2n ** 63n - 1n;

export function fitsIn64Bits(value: bigint): boolean {
  return LOWEST <= value && value <= HIGHEST;
}
