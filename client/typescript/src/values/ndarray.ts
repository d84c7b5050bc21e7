/** Arrays and NumPy scalars. */

import {
  type DType,
  halfToNumber,
  isNumeric,
  LAYOUTS,
  type NumericDType,
  numberToHalf,
  numpyItemSize,
  type TypedArray,
} from "./dtypes.js";
import type { Value } from "./types.js";

/** An n-dimensional array in C order. */
export class NdArray<Data extends TypedArray | Value[] = TypedArray | Value[]> {
  /**
   * @param dtype Element type; "object" for an array of values.
   * @param shape Length of each axis, outermost first; empty for a 0-d array.
   * @param data The elements in C order: two entries each for complex numbers; the raw bytes of NumPy's text and time
   *   types; values for "object".
   */
  constructor(
    readonly dtype: DType,
    readonly shape: readonly number[],
    readonly data: Data,
  ) {
    const expected = entriesOf(dtype, shape);
    if (data.length !== expected)
      throw new RangeError(
        `an array of ${dtype} with shape [${shape}] has ${expected} entries, not ${data.length}`,
      );
  }

  /** How many elements there are. */
  get size(): number {
    return sizeOf(this.shape);
  }
}

/** One element of an array: a NumPy scalar, such as a sample of a Discrete space. */
export class Scalar {
  constructor(
    readonly dtype: DType,
    readonly data: TypedArray,
  ) {
    const expected = entriesOf(dtype, []);
    if (data.length !== expected)
      throw new RangeError(`a scalar of ${dtype} has ${expected} entries, not ${data.length}`);
  }

  /** Makes a scalar of a number. */
  static of(dtype: NumericDType, value: number | bigint | boolean): Scalar {
    const { data } = array(dtype, [], [value as number]);
    return new Scalar(dtype, data);
  }

  /** The number; a boolean for "bool", a bigint for 64-bit integers, undefined where it is no number. */
  get value(): number | bigint | boolean | undefined {
    const first = this.data[0];
    if (!isNumeric(this.dtype) || LAYOUTS[this.dtype].width !== 1 || first === undefined) return undefined;
    if (this.dtype === "bool") return first !== 0;
    return this.dtype === "float16" ? halfToNumber(Number(first)) : first;
  }

  valueOf(): number {
    return Number(this.value);
  }
}

/** How many elements a shape has. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, length) => product * length, 1);
}

/** How many entries the data of an array has. */
function entriesOf(dtype: DType, shape: readonly number[]): number {
  if (dtype === "object") return sizeOf(shape);
  return sizeOf(shape) * (isNumeric(dtype) ? LAYOUTS[dtype].width : numpyItemSize(dtype));
}

/**
 * Makes an array of numbers, which are converted to the element type.
 *
 * @param values The elements in C order; absent for zeros. Bigints and numbers may both be given for 64-bit integers.
 */
export function array(
  dtype: NumericDType,
  shape: readonly number[],
  values?: Iterable<number | bigint | boolean>,
): NdArray<TypedArray> {
  const layout = LAYOUTS[dtype];
  const data: TypedArray = new layout.array(sizeOf(shape) * layout.width);
  if (values !== undefined) {
    const big = data instanceof BigInt64Array || data instanceof BigUint64Array;
    let at = 0;
    const half = dtype === "float16";
    for (const value of values)
      data[at++] = big ? BigInt(value) : half ? numberToHalf(Number(value)) : Number(value);
    if (at !== data.length)
      throw new RangeError(`shape [${shape}] of ${dtype} takes ${data.length} numbers, not ${at}`);
  }
  return new NdArray(dtype, shape, data);
}

const NAMES = new Map<unknown, NumericDType>([
  [Int8Array, "int8"],
  [Int16Array, "int16"],
  [Uint16Array, "uint16"],
  [Int32Array, "int32"],
  [Uint32Array, "uint32"],
  [Float32Array, "float32"],
  [Float64Array, "float64"],
  [BigInt64Array, "int64"],
  [BigUint64Array, "uint64"],
]);

/** Takes a typed array as an array with one axis. A Uint8Array is no array but bytes. */
export function fromTypedArray(data: TypedArray): NdArray<TypedArray> | undefined {
  const dtype = NAMES.get(data.constructor);
  return dtype && new NdArray(dtype, [data.length], data);
}
