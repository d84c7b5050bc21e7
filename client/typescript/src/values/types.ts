/** Values of observations, actions, infos and attributes. docs/protocol.md has the table of Python's types. */

import type { TypedArray } from "./dtypes.js";
import type { NdArray, Scalar } from "./ndarray.js";

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
