/** The element types of arrays, by NumPy's names, and the typed arrays that hold them. */

export type TypedArray =
  | Uint8Array
  | Int8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array;

interface Layout {
  /** Number of the type in the contract (DataType of values.proto). */
  readonly number: number;
  /** Bytes of one element. */
  readonly itemSize: number;
  /** Makes the typed array of so many elements, or a view of a buffer. */
  readonly array: {
    new (length: number): TypedArray;
    new (buffer: ArrayBufferLike, byteOffset: number, length: number): TypedArray;
  };
  /** Entries of the typed array that make one element: 2 for complex numbers. */
  readonly width: number;
}

/**
 * Booleans are bytes of 0 or 1. Half precision is kept as its 16 bits, since Node 20 has no Float16Array (see
 * `halfToNumber`). Complex numbers are two entries each, real then imaginary.
 */
export const LAYOUTS = {
  bool: { number: 1, itemSize: 1, array: Uint8Array, width: 1 },
  int8: { number: 2, itemSize: 1, array: Int8Array, width: 1 },
  int16: { number: 3, itemSize: 2, array: Int16Array, width: 1 },
  int32: { number: 4, itemSize: 4, array: Int32Array, width: 1 },
  int64: { number: 5, itemSize: 8, array: BigInt64Array, width: 1 },
  uint8: { number: 6, itemSize: 1, array: Uint8Array, width: 1 },
  uint16: { number: 7, itemSize: 2, array: Uint16Array, width: 1 },
  uint32: { number: 8, itemSize: 4, array: Uint32Array, width: 1 },
  uint64: { number: 9, itemSize: 8, array: BigUint64Array, width: 1 },
  float16: { number: 10, itemSize: 2, array: Uint16Array, width: 1 },
  float32: { number: 11, itemSize: 4, array: Float32Array, width: 1 },
  float64: { number: 12, itemSize: 8, array: Float64Array, width: 1 },
  complex64: { number: 13, itemSize: 8, array: Float32Array, width: 2 },
  complex128: { number: 14, itemSize: 16, array: Float64Array, width: 2 },
} as const satisfies Record<string, Layout>;

/** A numeric element type. */
export type NumericDType = keyof typeof LAYOUTS;
/** An element type: a numeric one, or NumPy's name of a text, bytes or time type ("<U5", "|S3", "<M8[ns]"). */
export type DType = NumericDType | (string & {});

/** DATA_TYPE_NUMPY: `numpy_type` names it. */
export const NUMPY_TYPE = 15;

const BY_NUMBER: (NumericDType | undefined)[] = [];
for (const [name, { number }] of Object.entries(LAYOUTS)) BY_NUMBER[number] = name as NumericDType;

/** Returns the element type that has a number in the contract. */
export function dtypeOf(number: number): NumericDType | undefined {
  return BY_NUMBER[number];
}

export function isNumeric(dtype: DType): dtype is NumericDType {
  return Object.hasOwn(LAYOUTS, dtype);
}

const NUMPY_NAME = /^[<>|=]?(?:([USV])(\d+)|[Mm]8(?:\[[^\]]*\])?)$/;

/** Returns the bytes of one element of a type that NumPy names, 0 for one that is unknown. */
export function numpyItemSize(dtype: string): number {
  const match = NUMPY_NAME.exec(dtype);
  if (match === null) return 0;
  const [, kind, count] = match;
  if (kind === undefined) return 8;
  return Number(count) * (kind === "U" ? 4 : 1);
}

const SMALLEST_HALF = 2 ** -24;
/** A float64 of this size has no fraction: to add it and take it away rounds a small number, ties to even. */
const ROUNDER = 2 ** 52;

/** Returns the number that 16 bits of half precision stand for. */
export function halfToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * SMALLEST_HALF;
  if (exponent === 0x1f) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Returns the 16 bits of the number of half precision that is nearest to another, ties to even. */
export function numberToHalf(number: number): number {
  const sign = number < 0 || Object.is(number, -0) ? 0x8000 : 0;
  const size = Math.abs(number);
  if (Number.isNaN(size)) return 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  const exponent = Math.max(Math.floor(Math.log2(size)), -14); // subnormals have that of the least normal number
  // Of 1,024 steps from a power of two to the next. A normal number has as many more, which count up its exponent.
  const steps = size * 2 ** (10 - exponent) + ROUNDER - ROUNDER;
  return sign | (((exponent + 14) << 10) + steps);
}
