/** From values to the bytes of a Value (values.proto). */

import { Writer } from "../wire/writer.js";
import { fitsIn64Bits, toTwosComplement } from "./big_integers.js";
import type { TypedArray } from "./dtypes.js";
import { entriesOf } from "./mappings.js";
import { writeShape, writeTensor } from "./tensors.js";
import {
  Complex,
  EnumMember,
  Float,
  fromTypedArray,
  Graph,
  type Mapping,
  NdArray,
  Opaque,
  Scalar,
  TextStream,
  Tuple,
  type Value,
} from "./types.js";

/** A value has no wire form. `path` says where it is: `action["goal"][3]`. */
export class ValueError extends TypeError {
  override name = "ValueError";
  constructor(
    readonly path: string,
    readonly problem: string,
  ) {
    super(`${path} ${problem}`);
  }
}

const NOTHING = new Uint8Array(0);
/** As in the Python client: protobuf's parsers take 100 messages inside each other. */
const MAX_DEPTH = 100;
/** By code points, pairs are none of these. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Returns a Value message; `path` names it in errors. */
export function encodeValue(value: Value, path = "value"): Uint8Array {
  const writer = new Writer();
  writeContent(writer, value, path, 0);
  return writer.take();
}

/** Returns a ValueMap message. */
export function encodeMapping(mapping: Mapping, path = "mapping"): Uint8Array {
  const writer = new Writer();
  writeEntries(writer, mapping, path, 0);
  return writer.take();
}

/** Writes a Value as a field of another message. */
export function writeValue(writer: Writer, field: number, value: Value, path: string, depth = 0): void {
  const mark = writer.length;
  writeContent(writer, value, path, depth);
  writer.message(field, mark);
}

/** Writes a ValueMap as a field of another message. */
export function writeMapping(writer: Writer, field: number, mapping: Mapping, path: string, depth = 0): void {
  const mark = writer.length;
  writeEntries(writer, mapping, path, depth);
  writer.message(field, mark);
}

function writeContent(writer: Writer, value: Value, path: string, depth: number): void {
  if (depth > MAX_DEPTH) throw new ValueError(path, "is nested too deeply");
  switch (typeof value) {
    case "number":
      if (Number.isSafeInteger(value) && !Object.is(value, -0)) writer.sint64(3, value);
      else writer.double(5, value);
      return;
    case "boolean":
      return writer.number(2, value ? 1 : 0);
    case "string":
      return writeText(writer, 6, value, path);
    case "bigint":
      if (fitsIn64Bits(value)) writer.sint64(3, value);
      else writer.bytes(4, toTwosComplement(value));
      return;
    case "object":
      return writeObject(writer, value, path, depth);
    default:
      throw new ValueError(path, `is ${typeof value}, which has no wire form`);
  }
}

type Write = (writer: Writer, value: never, path: string, depth: number) => void;

/** How objects are written, by their class; the first that fits. */
const CLASSES: [new (...args: never[]) => object, Write][] = [
  [NdArray, writeArray],
  [Scalar, (writer, { dtype, data }: Scalar) => writeTensor(writer, 9, dtype, [], data)],
  [Uint8Array, (writer, bytes: Uint8Array) => writer.bytes(7, bytes)],
  [Tuple, (writer, values: Tuple, path, depth) => writeList(writer, 11, values, path, depth)],
  [Array, (writer, values: Value[], path, depth) => writeList(writer, 10, values, path, depth)],
  [Set, (writer, values: Set<Value>, path, depth) => writeList(writer, 18, [...values], path, depth)],
  [Map, (writer, mapping: Mapping, path, depth) => writeMapping(writer, 12, mapping, path, depth + 2)],
  [Float, (writer, { value }: Float) => writer.double(5, value)],
  [Complex, writeComplex],
  [TextStream, (writer, { text }: TextStream, path) => writeText(writer, 17, text, path)],
  [Graph, writeGraph],
  [
    EnumMember,
    (writer, { enumeration, member }: EnumMember, path) =>
      writeTwoTexts(writer, 16, [enumeration, member], path),
  ],
  [Opaque, (writer, { typeName, text }: Opaque, path) => writeTwoTexts(writer, 19, [typeName, text], path)],
];

function writeObject(writer: Writer, value: object | null, path: string, depth: number): void {
  if (value === null) return writer.bytes(1, NOTHING);
  for (const [type, write] of CLASSES) {
    if (value instanceof type) return write(writer, value as never, path, depth);
  }
  if (ArrayBuffer.isView(value)) {
    const array = fromTypedArray(value as TypedArray);
    if (array !== undefined) return writeArray(writer, array, path, depth);
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null)
    throw new ValueError(path, `is a ${prototype.constructor?.name}, which has no wire form`);
  writeMapping(writer, 12, value as Mapping, path, depth + 2);
}

function writeArray(writer: Writer, { dtype, shape, data }: NdArray, path: string, depth: number): void {
  if (!Array.isArray(data)) return writeTensor(writer, 8, dtype, shape, data);
  const mark = writer.length;
  writeValues(writer, 2, data, path, depth + 2);
  writeShape(writer, 1, shape);
  writer.message(14, mark);
}

function writeList(
  writer: Writer,
  field: number,
  values: readonly Value[],
  path: string,
  depth: number,
): void {
  const mark = writer.length;
  writeValues(writer, 1, values, path, depth + 2);
  writer.message(field, mark);
}

/** Writes values as a repeated field. */
export function writeValues(
  writer: Writer,
  field: number,
  values: readonly Value[],
  path: string,
  depth = 0,
): void {
  for (let index = values.length - 1; index >= 0; index--)
    writeValue(writer, field, values[index] as Value, `${path}[${index}]`, depth);
}

function writeEntries(writer: Writer, mapping: Mapping, path: string, depth: number): void {
  const entries = entriesOf(mapping);
  for (let index = entries.length - 1; index >= 0; index--) {
    const [key, value] = entries[index] as [Value, Value];
    const mark = writer.length;
    writeValue(writer, 3, value, `${path}[${JSON.stringify(String(key))}]`, depth);
    if (typeof key === "string") writeText(writer, 1, key, `a key of ${path}`);
    else writeValue(writer, 2, key, `a key of ${path}`, depth);
    writer.message(1, mark);
  }
}

function writeComplex(writer: Writer, { real, imaginary }: Complex): void {
  const mark = writer.length;
  if (!Object.is(imaginary, 0)) writer.double(2, imaginary);
  if (!Object.is(real, 0)) writer.double(1, real);
  writer.message(13, mark);
}

function writeGraph(writer: Writer, graph: Graph, path: string, depth: number): void {
  const mark = writer.length;
  if (graph.edgeLinks !== undefined) writeValue(writer, 3, graph.edgeLinks, `${path}.edgeLinks`, depth + 2);
  if (graph.edges !== undefined) writeValue(writer, 2, graph.edges, `${path}.edges`, depth + 2);
  writeValue(writer, 1, graph.nodes, `${path}.nodes`, depth + 2);
  writer.message(15, mark);
}

function writeTwoTexts(
  writer: Writer,
  field: number,
  [first, second]: readonly [string, string],
  path: string,
): void {
  const mark = writer.length;
  if (second) writeText(writer, 2, second, path);
  if (first) writeText(writer, 1, first, path);
  writer.message(field, mark);
}

/** Writes a text as it is, or not at all: UTF-8 has no half of a surrogate pair. */
function writeText(writer: Writer, field: number, text: string, path: string): void {
  if (LONE_SURROGATE.test(text)) throw new ValueError(path, "is a text with a lone surrogate");
  writer.text(field, text);
}
