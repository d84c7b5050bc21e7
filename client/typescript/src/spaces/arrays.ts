/** Spaces of arrays and numbers: Box, Discrete, MultiBinary, MultiDiscrete. */

import type { Generator } from "../random/generator.js";
import { halfToNumber, type NumericDType, type TypedArray } from "../values/dtypes.js";
import type { Value } from "../values/types.js";
import { array, fromTypedArray, NdArray, Scalar, sizeOf } from "../values/types.js";
import { Space } from "./space.js";

/** Returns a value as an array, if it is one. */
function arrayOf(value: Value): NdArray<TypedArray> | undefined {
  if (value instanceof Scalar) return new NdArray(value.dtype, [], value.data);
  if (value instanceof NdArray) return Array.isArray(value.data) ? undefined : (value as NdArray<TypedArray>);
  return ArrayBuffer.isView(value) ? fromTypedArray(value as TypedArray) : undefined;
}

export function sameShape(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((length, axis) => length === other[axis]);
}

/** Returns elements as numbers that compare as the elements do. */
export function comparable({ dtype, data }: NdArray<TypedArray>): (index: number) => number | bigint {
  if (dtype === "float16") return (index) => halfToNumber(Number(data[index]));
  return (index) => data[index] as number | bigint;
}

/** Arrays of one shape and type, each element between its bounds. */
export class Box extends Space<NdArray<TypedArray>> {
  readonly dtype: NumericDType;
  readonly shape: readonly number[];

  /**
   * @param low Lower bounds, inclusive.
   * @param high Upper bounds, inclusive; type and shape of `low`.
   */
  constructor(
    readonly low: NdArray<TypedArray>,
    readonly high: NdArray<TypedArray>,
  ) {
    super();
    this.dtype = low.dtype as NumericDType;
    this.shape = low.shape;
    if (high.dtype !== low.dtype || !sameShape(high.shape, low.shape))
      throw new TypeError("the bounds of a box have one shape and one type");
  }

  contains(value: Value): boolean {
    const given = arrayOf(value);
    if (given === undefined || given.dtype !== this.dtype || !sameShape(given.shape, this.shape))
      return false;
    const [element, low, high] = [given, this.low, this.high].map(comparable) as [Element, Element, Element];
    for (let index = 0; index < given.data.length; index++)
      if (!(element(index) >= low(index) && element(index) <= high(index))) return false;
    return true;
  }

  protected draw(random: Generator): NdArray<TypedArray> {
    const [low, high] = [comparable(this.low), comparable(this.high)];
    const whole = !this.dtype.startsWith("float");
    const values = Array.from({ length: this.low.size }, (_, index) =>
      between(random, Number(low(index)), Number(high(index)), whole),
    );
    return array(this.dtype, this.shape, values);
  }
}

type Element = (index: number) => number | bigint;

/** Draws uniformly between bounds, and by an exponential or normal law where there are none, as Gymnasium does. */
function between(random: Generator, low: number, high: number, whole: boolean): number {
  const exponential = () => -Math.log1p(-random.random());
  const normal = () => Math.sqrt(2 * exponential()) * Math.cos(2 * Math.PI * random.random());
  let value: number;
  if (Number.isFinite(low) && Number.isFinite(high))
    value = whole ? low + Math.floor(random.random() * (high - low + 1)) : random.uniform(low, high);
  else if (Number.isFinite(low)) value = low + exponential();
  else if (Number.isFinite(high)) value = high - exponential();
  else value = normal();
  return whole ? Math.min(Math.floor(value), high) : value;
}

/** The integers from `start`, `n` of them. */
export class Discrete extends Space<number> {
  constructor(
    readonly n: number,
    readonly start = 0,
    readonly dtype: NumericDType = "int64",
  ) {
    super();
  }

  contains(value: Value): boolean {
    const number = integerOf(value);
    return number !== undefined && number >= this.start && number < this.start + this.n;
  }

  protected draw(random: Generator): number {
    const { start, n } = this;
    const end = 2 ** 53; // from here on numbers travel as floats
    return random.integers(start, Math.min(start + Math.min(n, end), end));
  }
}

/** Returns the integer that a value is on the wire: a plain one, or a scalar or 0-d array of an integer type. */
export function integerOf(value: Value): number | bigint | undefined {
  if (typeof value === "number") return Number.isSafeInteger(value) ? value : undefined;
  if (typeof value === "bigint") return value;
  const zeroDimensional = value instanceof NdArray && value.shape.length === 0;
  if (!(value instanceof Scalar) && !zeroDimensional) return undefined;
  return /^u?int/.test(value.dtype) ? (value.data[0] as number | bigint) : undefined;
}

/** Arrays of int8 zeros and ones. */
export class MultiBinary extends Space<NdArray<TypedArray>> {
  readonly shape: readonly number[];

  constructor(readonly n: number | readonly number[]) {
    super();
    this.shape = typeof n === "number" ? [n] : n;
  }

  contains(value: Value): boolean {
    const given = arrayOf(value);
    if (given === undefined || !sameShape(given.shape, this.shape)) return false;
    return given.data.every((element: number | bigint) => Number(element) === 0 || Number(element) === 1);
  }

  protected draw(random: Generator): NdArray<TypedArray> {
    return array(
      "int8",
      this.shape,
      Array.from({ length: sizeOf(this.shape) }, () => random.integers(0, 2)),
    );
  }
}

/** Arrays of integers whose element i is one of nvec[i], from start[i]. */
export class MultiDiscrete extends Space<NdArray<TypedArray>> {
  readonly nvec: NdArray<TypedArray>;
  readonly start: NdArray<TypedArray>;
  readonly shape: readonly number[];
  readonly dtype: NumericDType;

  constructor(
    nvec: readonly number[] | NdArray<TypedArray>,
    start?: readonly number[] | NdArray<TypedArray>,
  ) {
    super();
    this.nvec = nvec instanceof NdArray ? nvec : array("int64", [nvec.length], nvec);
    this.dtype = this.nvec.dtype as NumericDType;
    this.shape = this.nvec.shape;
    this.start = start instanceof NdArray ? start : array(this.dtype, this.shape, start);
  }

  contains(value: Value): boolean {
    const given = arrayOf(value);
    if (given === undefined || !sameShape(given.shape, this.shape) || !/^u?int/.test(given.dtype))
      return false;
    for (let index = 0; index < given.data.length; index++) {
      const above = Number(given.data[index]) - Number(this.start.data[index]);
      if (above < 0 || above >= Number(this.nvec.data[index])) return false;
    }
    return true;
  }

  protected draw(random: Generator): NdArray<TypedArray> {
    const values = Array.from({ length: this.nvec.size }, (_, index) => {
      const start = Number(this.start.data[index]);
      return random.integers(start, start + Number(this.nvec.data[index]));
    });
    return array(this.dtype, this.shape, values);
  }
}
