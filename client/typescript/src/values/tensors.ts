/** Tensor of values.proto: an array as bytes. */

import { MalformedMessageError } from "../errors.js";
import type { Reader } from "../wire/reader.js";
import type { Writer } from "../wire/writer.js";
import {
  type DType,
  dtypeOf,
  isNumeric,
  LAYOUTS,
  NUMPY_TYPE,
  numpyItemSize,
  type TypedArray,
} from "./dtypes.js";
import { sizeOf } from "./types.js";

/** An array as it travels. */
export interface TensorParts {
  dtype: DType;
  shape: number[];
  data: TypedArray;
}

/** As much as a message may hold by default. */
const MAX_FILLED_BYTES = 256 * 1024 * 1024;
const NOTHING = new Uint8Array(0);

/** How many bytes the fills of one message may still grow to together: a few bytes with `fill` can stand for any number. */
export class FillAllowance {
  #left: number;
  constructor(limit = MAX_FILLED_BYTES) {
    this.#left = limit;
  }

  spend(bytes: number): void {
    if (!(bytes <= this.#left))
      throw new MalformedMessageError(`a filled tensor of ${bytes} bytes is too large for its message`);
    this.#left -= bytes;
  }
}

interface TensorFields {
  number: number;
  shape: number[];
  data: Uint8Array;
  fill: boolean;
  numpyType: string;
  offset: number;
}

/**
 * Reads a tensor, whose length comes next.
 *
 * @param fills What the message may still fill.
 * @param attachments What came beside the message. Arrays among them are views of it, nothing is copied.
 */
export function readTensor(reader: Reader, fills: FillAllowance, attachments?: Uint8Array): TensorParts {
  const fields = readFields(reader);
  const dtype = fields.number === NUMPY_TYPE ? fields.numpyType : dtypeOf(fields.number);
  const itemSize = dtype === undefined ? 0 : itemSizeOf(dtype);
  if (dtype === undefined || (itemSize === 0 && !/^[<|]?[USV]0$/.test(dtype)))
    throw new MalformedMessageError(`a tensor has the unknown element type ${dtype || fields.number}`);
  const bytes = sizeOf(fields.shape) * itemSize;
  return {
    dtype,
    shape: fields.shape,
    data: view(dtype, elements(fields, bytes, itemSize, fills, attachments)),
  };
}

function readFields(reader: Reader): TensorFields {
  const fields: TensorFields = {
    number: 0,
    shape: [],
    data: NOTHING,
    fill: false,
    numpyType: "",
    offset: -1,
  };
  const outer = reader.enter();
  while (reader.more) {
    const tag = reader.varint();
    if (tag === 0x08) fields.number = reader.varint();
    else if (tag === 0x12) readShape(reader, fields.shape);
    else if (tag === 0x10) fields.shape.push(reader.varint());
    else if (tag === 0x1a) fields.data = reader.delimited();
    else if (tag === 0x20) fields.fill = reader.varint() !== 0;
    else if (tag === 0x2a) fields.numpyType = reader.text();
    else if (tag === 0x30) fields.offset = reader.varint();
    else reader.skip(tag);
  }
  reader.leave(outer);
  return fields;
}

function readShape(reader: Reader, shape: number[]): void {
  const outer = reader.enter();
  while (reader.more) shape.push(reader.varint());
  reader.leave(outer);
}

/** Returns the elements at the beginning of a buffer of their own, or where they lie among the attachments. */
function elements(
  fields: TensorFields,
  bytes: number,
  itemSize: number,
  fills: FillAllowance,
  attachments?: Uint8Array,
): Uint8Array {
  if (fields.offset >= 0) {
    if (attachments === undefined || fields.offset % 64 !== 0 || fields.offset + bytes > attachments.length)
      throw new MalformedMessageError("a tensor lies outside of the attachments");
    return attachments.subarray(fields.offset, fields.offset + bytes);
  }
  if (fields.fill) return filled(fields.data, bytes, itemSize, fills);
  if (fields.data.length !== bytes)
    throw new MalformedMessageError(
      `a tensor of shape [${fields.shape}] has ${fields.data.length} bytes, not ${bytes}`,
    );
  return Uint8Array.prototype.slice.call(fields.data);
}

function filled(element: Uint8Array, bytes: number, itemSize: number, fills: FillAllowance): Uint8Array {
  if (element.length !== itemSize) throw new MalformedMessageError("a filled tensor has one element");
  fills.spend(bytes);
  const data = new Uint8Array(bytes);
  for (let at = 0; at < bytes; at += itemSize) data.set(element, at);
  return data;
}

/** Returns the typed array over bytes that are aligned. */
function view(dtype: DType, bytes: Uint8Array): TypedArray {
  if (!isNumeric(dtype)) return bytes;
  const { array, itemSize, width } = LAYOUTS[dtype];
  return new array(bytes.buffer as ArrayBuffer, bytes.byteOffset, (bytes.length / itemSize) * width);
}

function itemSizeOf(dtype: DType): number {
  return isNumeric(dtype) ? LAYOUTS[dtype].itemSize : numpyItemSize(dtype);
}

/** Writes a tensor as a field. */
export function writeTensor(
  writer: Writer,
  field: number,
  dtype: DType,
  shape: readonly number[],
  data: TypedArray,
): void {
  const mark = writer.length;
  if (!isNumeric(dtype)) writer.text(5, dtype);
  if (data.byteLength) writer.bytes(3, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  writeShape(writer, 2, shape);
  writer.number(1, isNumeric(dtype) ? LAYOUTS[dtype].number : NUMPY_TYPE);
  writer.message(field, mark);
}

/** Writes a packed list of lengths; an empty one is left out. */
export function writeShape(writer: Writer, field: number, shape: readonly number[]): void {
  if (shape.length === 0) return;
  const mark = writer.length;
  for (let axis = shape.length - 1; axis >= 0; axis--) writer.varint(shape[axis] as number);
  writer.message(field, mark);
}
