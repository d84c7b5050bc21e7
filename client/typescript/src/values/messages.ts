/** Values inside of generated messages, for requests that are not made at every step. */

import { fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type Tensor,
  TensorSchema,
  type ValueList,
  ValueListSchema,
  type ValueMap,
  ValueMapSchema,
  type Value as ValueMessage,
  ValueSchema,
} from "../gen/envwire/v1/values_pb.js";
import { Reader } from "../wire/reader.js";
import { Writer } from "../wire/writer.js";
import { contentOf, decodeMapping, type Reading } from "./decoding.js";
import type { TypedArray } from "./dtypes.js";
import { encodeMapping, encodeValue, writeValues } from "./encoding.js";
import { FillAllowance, readTensor, writeTensor } from "./tensors.js";
import type { Mapping, Value } from "./types.js";
import { NdArray } from "./types.js";

export function fromMessage(message: ValueMessage, attachments?: Uint8Array, reading?: Reading): Value {
  return contentOf(toBinary(ValueSchema, message), attachments, reading);
}

export function toMessage(value: Value, path?: string): ValueMessage {
  return fromBinary(ValueSchema, encodeValue(value, path));
}

export function fromMapMessage(message: ValueMap | undefined, reading?: Reading): Mapping {
  return message === undefined ? {} : decodeMapping(toBinary(ValueMapSchema, message), undefined, reading);
}

export function toMapMessage(mapping: Mapping, path?: string): ValueMap {
  return fromBinary(ValueMapSchema, encodeMapping(mapping, path));
}

export function toListMessage(values: readonly Value[], path: string): ValueList {
  const writer = new Writer();
  writeValues(writer, 1, values, path);
  return fromBinary(ValueListSchema, writer.take());
}

export function fromTensorMessage(message: Tensor, fills = new FillAllowance()): NdArray<TypedArray> {
  const writer = new Writer();
  writer.bytes(1, toBinary(TensorSchema, message));
  const reader = new Reader(writer.take());
  reader.varint();
  const { dtype, shape, data } = readTensor(reader, fills);
  return new NdArray(dtype, shape, data);
}

export function toTensorMessage({ dtype, shape, data }: NdArray<TypedArray>): Tensor {
  const writer = new Writer();
  writeTensor(writer, 1, dtype, shape, data);
  const reader = new Reader(writer.take());
  reader.varint();
  return fromBinary(TensorSchema, reader.delimited());
}

/** Writes one element in place of many where all have the same bytes, as the bounds of an image's box have. */
export function toUniformTensorMessage(array: NdArray<TypedArray>): Tensor {
  const { dtype, shape, data, size } = array;
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const itemSize = bytes.length / size;
  if (size < 2 || !bytes.subarray(itemSize).equals(bytes.subarray(0, -itemSize)))
    return toTensorMessage(array);
  const one = new NdArray(dtype, [], data.subarray(0, data.length / size));
  return { ...toTensorMessage(one), shape: shape.map(BigInt), fill: true };
}
