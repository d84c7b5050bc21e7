/** From the bytes of a Value (values.proto) to the value: one small function for each kind. */

import { MalformedMessageError, readAnswer } from "../errors.js";
import { Reader } from "../wire/reader.js";
import { fromTwosComplement } from "./big_integers.js";
import { mappingOf } from "./mappings.js";
import { checkKeys, isKnown, refuseUnhashable } from "./strictness.js";
import { FillAllowance, readTensor } from "./tensors.js";
import {
  Complex,
  EnumMember,
  Float,
  Graph,
  type Mapping,
  NdArray,
  Opaque,
  Scalar,
  TextStream,
  Tuple,
  type Value,
} from "./types.js";

/** protobuf's parsers take 100 messages inside each other; so does this one. */
const MAX_DEPTH = 100;

/** How values are read. */
export interface Reading {
  /** As a server reads them: what only answers may hold is refused, and so are keys that Python could not have. */
  readonly strict?: boolean;
  /** Integers become bigint and floats `Float`, so that 1 and 1.0 are told apart. */
  readonly exact?: boolean;
}

/** What a message was received with, how it is read, and how deep the reading has come. */
export class Context {
  depth = 0;
  readonly fills = new FillAllowance();
  constructor(
    readonly attachments?: Uint8Array,
    readonly reading: Reading = {},
  ) {}
}

/** Reads a Value that is a message of its own. @throws EnvwireError The bytes are none. */
export function decodeValue(bytes: Uint8Array, attachments?: Uint8Array, reading?: Reading): Value {
  return readAnswer(() => contentOf(bytes, attachments, reading));
}

export function contentOf(bytes: Uint8Array, attachments?: Uint8Array, reading?: Reading): Value {
  return readContent(new Reader(bytes), new Context(attachments, reading));
}

/** Reads a ValueMap that is a message of its own. */
export function decodeMapping(bytes: Uint8Array, attachments?: Uint8Array, reading?: Reading): Mapping {
  return readMappingContent(new Reader(bytes), new Context(attachments, reading));
}

/** Reads a Value whose length comes next. */
export function readValue(reader: Reader, context: Context): Value {
  return nested(reader, context, readContent);
}

/** Reads a ValueMap whose length comes next. */
export function readMapping(reader: Reader, context: Context): Mapping {
  return nested(reader, context, readMappingContent);
}

function nested<T>(reader: Reader, context: Context, read: (reader: Reader, context: Context) => T): T {
  if (++context.depth > MAX_DEPTH) throw new MalformedMessageError("values are nested too deeply");
  const outer = reader.enter();
  const result = read(reader, context);
  reader.leave(outer);
  context.depth--;
  return result;
}

type ReadKind = (reader: Reader, context: Context) => Value;

/** How each kind is read, by its tag. */
const KINDS = new Map<number, ReadKind>([
  [0x0a, readNothing],
  [0x10, (reader) => reader.varint() !== 0],
  [0x18, readInteger],
  [0x22, (reader) => fromTwosComplement(reader.delimited())],
  [0x29, readFloat],
  [0x32, (reader) => reader.text()],
  [0x3a, (reader) => Uint8Array.prototype.slice.call(reader.delimited())],
  [0x42, readArray],
  [0x4a, readScalar],
  [0x52, readList],
  [0x5a, (reader, context) => Tuple.from(readList(reader, context)) as Tuple],
  [0x62, readMapping],
  [0x6a, readComplex],
  [0x72, readObjectArray],
  [0x7a, readGraph],
  [0x82, readEnumMember],
  [0x8a, (reader) => new TextStream(reader.text())],
  [0x92, readSet],
  [0x9a, readOpaque],
]);

function readContent(reader: Reader, context: Context): Value {
  let value: Value | undefined;
  while (reader.more) {
    const tag = reader.varint();
    const read = KINDS.get(tag);
    if (read === undefined) reader.skip(tag);
    else value = read(reader, context);
  }
  if (value === undefined) throw new MalformedMessageError("a value is of no kind that this version knows");
  return value;
}

function readNothing(reader: Reader): null {
  reader.delimited();
  return null;
}

function readInteger(reader: Reader, { reading }: Context): number | bigint {
  const value = reader.sint64();
  return reading.exact ? BigInt(value) : value;
}

function readFloat(reader: Reader, { reading }: Context): number | Float {
  const value = reader.double();
  return reading.exact ? new Float(value) : value;
}

function readEnumMember(reader: Reader, { reading }: Context): EnumMember {
  const member = new EnumMember(...readTwoTexts(reader));
  if (reading.strict && !isKnown(member))
    throw new MalformedMessageError(`there is no ${member.enumeration}.${member.member}`);
  return member;
}

function readSet(reader: Reader, context: Context): Set<Value> {
  const values = readList(reader, context);
  if (context.reading.strict) values.forEach(refuseUnhashable);
  return new Set(values);
}

function readOpaque(reader: Reader, { reading }: Context): Opaque {
  if (reading.strict) throw new MalformedMessageError("a request holds an object without a wire form");
  return new Opaque(...readTwoTexts(reader));
}

function readArray(reader: Reader, context: Context): NdArray {
  const { dtype, shape, data } = readTensor(reader, context.fills, context.attachments);
  return new NdArray(dtype, shape, data);
}

function readScalar(reader: Reader, context: Context): Scalar {
  const { dtype, data } = readTensor(reader, context.fills, context.attachments);
  return new Scalar(dtype, data);
}

function readList(reader: Reader, context: Context): Value[] {
  return nested(reader, context, () => {
    const values: Value[] = [];
    while (reader.more) {
      const tag = reader.varint();
      if (tag === 0x0a) values.push(readValue(reader, context));
      else reader.skip(tag);
    }
    return values;
  });
}

function readMappingContent(reader: Reader, context: Context): Mapping {
  const entries: [Value, Value][] = [];
  while (reader.more) {
    const tag = reader.varint();
    if (tag === 0x0a) entries.push(nested(reader, context, readEntry));
    else reader.skip(tag);
  }
  if (context.reading.strict) checkKeys(entries);
  return mappingOf(entries);
}

function readEntry(reader: Reader, context: Context): [Value, Value] {
  let key: Value | undefined;
  let value: Value | undefined;
  while (reader.more) {
    const tag = reader.varint();
    if (tag === 0x0a) key = reader.text();
    else if (tag === 0x12) key = readValue(reader, context);
    else if (tag === 0x1a) value = readValue(reader, context);
    else reader.skip(tag);
  }
  if (key === undefined || value === undefined)
    throw new MalformedMessageError("an entry of a dictionary lacks its key or its value");
  return [key, value];
}

function readComplex(reader: Reader, context: Context): Complex {
  let real = 0;
  let imaginary = 0;
  return nested(reader, context, () => {
    while (reader.more) {
      const tag = reader.varint();
      if (tag === 0x09) real = reader.double();
      else if (tag === 0x11) imaginary = reader.double();
      else reader.skip(tag);
    }
    return new Complex(real, imaginary);
  });
}

function readObjectArray(reader: Reader, context: Context): NdArray<Value[]> {
  const shape: number[] = [];
  const values: Value[] = [];
  return nested(reader, context, () => {
    while (reader.more) {
      const tag = reader.varint();
      if (tag === 0x0a) {
        const outer = reader.enter();
        while (reader.more) shape.push(reader.varint());
        reader.leave(outer);
      } else if (tag === 0x08) shape.push(reader.varint());
      else if (tag === 0x12) values.push(readValue(reader, context));
      else reader.skip(tag);
    }
    return new NdArray("object", shape, values);
  });
}

function readGraph(reader: Reader, context: Context): Graph {
  const parts: (Value | undefined)[] = [];
  return nested(reader, context, () => {
    while (reader.more) {
      const tag = reader.varint();
      if (tag === 0x0a || tag === 0x12 || tag === 0x1a) parts[tag >> 3] = readValue(reader, context);
      else reader.skip(tag);
    }
    return new Graph(parts[1] ?? null, parts[2], parts[3]);
  });
}

function readTwoTexts(reader: Reader): [string, string] {
  const texts: [string, string] = ["", ""];
  const outer = reader.enter();
  while (reader.more) {
    const tag = reader.varint();
    if (tag === 0x0a) texts[0] = reader.text();
    else if (tag === 0x12) texts[1] = reader.text();
    else reader.skip(tag);
  }
  reader.leave(outer);
  return texts;
}
