/** Values of observations, actions, infos and attributes. docs/protocol.md has the table of Python's types. */

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

/**
 * One value.
 *
 * A number that is a safe integer (and not -0) travels as an integer, any other as a float; `new Float(1)` travels as
 * 1.0.
 * Integers that a number does not hold exactly arrive as bigint. A Uint8Array is bytes, other typed arrays are arrays
 * with one axis. A dictionary arrives as an object when its keys are texts that an object keeps in order, else as a Map.
 */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | TypedArray
  | NdArray
  | Scalar
  | Float
  | Complex
  | Tuple
  | TextStream
  | Graph
  | EnumMember
  | Opaque
  | readonly Value[]
  | ReadonlySet<Value>
  | ReadonlyMap<Value, Value>
  | Dict;

/** A dictionary whose keys are texts. */
export interface Dict {
  readonly [key: string]: Value;
}

/** A dictionary as it is sent or received. */
export type Mapping = Dict | ReadonlyMap<Value, Value>;

/** A number that travels as a float even if it is an integer. It arrives as a plain number. */
export class Float {
  constructor(readonly value: number) {}
  valueOf(): number {
    return this.value;
  }
}

/** Python's tuple: an array that is told from a list. */
export class Tuple extends Array<Value> {
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }
}

/** Makes a tuple of its arguments. */
export function tuple(...values: Value[]): Tuple {
  return Tuple.from(values) as Tuple;
}

/** A complex number. */
export class Complex {
  constructor(
    readonly real: number,
    readonly imaginary: number,
  ) {}
}

/** A text stream (Python's StringIO), the older form of an "ansi" frame. */
export class TextStream {
  constructor(readonly text: string) {}
}

/** A sample of a Graph space; `edges` and `edgeLinks` are absent when it has none. */
export class Graph {
  constructor(
    readonly nodes: Value,
    readonly edges?: Value,
    readonly edgeLinks?: Value,
  ) {}
}

/** A member of an enumeration that both sides know by name. */
export class EnumMember {
  constructor(
    readonly enumeration: string,
    readonly member: string,
  ) {}
}

/** An object of the server without a wire form: its class and its repr. It cannot be sent. */
export class Opaque {
  constructor(
    readonly typeName: string,
    readonly text: string,
  ) {}
}

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
