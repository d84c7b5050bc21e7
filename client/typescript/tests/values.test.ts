/** Values arrive as the type that was sent. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { DataType, ValueSchema } from "../src/gen/envwire/v1/values_pb.js";
import {
  array,
  Complex,
  decodeValue,
  EnumMember,
  encodeValue,
  Float,
  Graph,
  halfToNumber,
  NdArray,
  Opaque,
  Scalar,
  TextStream,
  Tuple,
  tuple,
  type Value,
} from "../src/index.js";

const SAME: Record<string, Value> = {
  null: null,
  true: true,
  false: false,
  zero: 0,
  negative: -3,
  "largest safe integer": Number.MAX_SAFE_INTEGER,
  "an integer of 64 bits": 2n ** 63n - 1n,
  "the lowest integer of 64 bits": -(2n ** 63n),
  "an integer beyond 64 bits": 2n ** 64n,
  "a negative integer beyond 64 bits": -(2n ** 200n) - 1n,
  float: 0.5,
  NaN: Number.NaN,
  infinity: Number.NEGATIVE_INFINITY,
  "negative zero": -0,
  text: "ä\u{1f600}",
  "empty text": "",
  bytes: Uint8Array.of(0, 255),
  list: [1, "a", [null]],
  tuple: tuple(2, tuple()),
  set: new Set<Value>([5]),
  dict: { a: 1, b: { c: [] } },
  "dict with other keys": new Map<Value, Value>([
    [7, null],
    [-1, true],
  ]),
  "dict whose keys an object would reorder": new Map<Value, Value>([
    ["2", 1],
    ["1", 2],
  ]),
  "dict with a dangerous key": new Map<Value, Value>([["__proto__", 1]]),
  array: array("float32", [2, 2], [1, 2, 3, -0]),
  "array of 64-bit integers": array("int64", [2], [1n, -(2n ** 63n)]),
  "empty array": array("float64", [0, 3]),
  "0-d array": array("uint16", [], [5]),
  "complex array": new NdArray("complex64", [1], Float32Array.of(1, 2)),
  "half precision": new NdArray("float16", [1], Uint16Array.of(0x3c00)),
  "array of texts": new NdArray("<U2", [1], Uint8Array.of(97, 0, 0, 0, 98, 0, 0, 0)),
  "array of values": new NdArray("object", [2], [null, "x"]),
  scalar: Scalar.of("float32", 1.5),
  complex: new Complex(1, -0),
  "text stream": new TextStream("line"),
  graph: new Graph(array("float32", [1], [1]), array("float32", [1], [2]), array("int32", [1, 2], [0, 0])),
  "graph without edges": new Graph(tuple(1)),
  "member of an enumeration": new EnumMember("AutoresetMode", "NEXT_STEP"),
  opaque: new Opaque("builtins.len", "<built-in function len>"),
};

for (const [name, value] of Object.entries(SAME)) {
  test(`${name} arrives as it was sent`, () => {
    const arrived = decodeValue(encodeValue(value));
    assert.deepStrictEqual(arrived, value);
    assert.equal(arrived instanceof Tuple, value instanceof Tuple);
  });
}

const OTHER: Record<string, [Value, Value]> = {
  "a Float arrives as a number": [new Float(2), 2],
  "a small bigint arrives as a number": [7n, 7],
  "a typed array arrives as an array": [Float64Array.of(1, 2), array("float64", [2], [1, 2])],
  "a Buffer arrives as bytes": [Buffer.of(1), Uint8Array.of(1)],
  "a Map of texts arrives as an object": [new Map([["a", 1]]), { a: 1 }],
};

for (const [name, [sent, expected]] of Object.entries(OTHER))
  test(name, () => assert.deepStrictEqual(decodeValue(encodeValue(sent)), expected));

test("1 and 1.0 are two things on the wire", () => {
  assert.equal(Buffer.from(encodeValue(1)).toString("hex"), "1802");
  assert.equal(Buffer.from(encodeValue(new Float(1))).toString("hex"), "29000000000000f03f");
});

test("a value without a wire form is refused, with its path", () => {
  const value = { goal: [1, new Date(0)] } as unknown as Value;
  assert.throws(() => encodeValue(value, "action"), /action\["goal"\]\[1\] is a Date/);
  assert.throws(() => encodeValue(undefined as unknown as Value), /undefined/);
});

test("what nests without end is refused instead of filling the stack", () => {
  const endless: Value[] = [];
  endless.push(endless);
  assert.throws(() => encodeValue(endless), /nested too deeply/);
});

test("arrays that few bytes claim to be large are refused", () => {
  const filled = Buffer.from("42" + "0d" + "080b" + "1205ffffffff7f" + "1a00" + "2001", "hex");
  assert.throws(() => decodeValue(filled));
});

test("what the filled arrays of a message grow to has a sum", () => {
  const tensor = { dataType: DataType.UINT8, shape: [1n << 27n], data: Uint8Array.of(1), fill: true };
  const list = (count: number) => {
    const values = Array.from({ length: count }, () => ({ kind: { case: "array", value: tensor } }));
    const message = { kind: { case: "list", value: { values } } };
    return toBinary(ValueSchema, create(ValueSchema, message as MessageInitShape<typeof ValueSchema>));
  };
  assert.equal((decodeValue(list(1)) as Value[]).length, 1);
  assert.throws(() => decodeValue(list(3)), /too large for its message/);
});

test("numbers become the nearest ones of half precision, and halves stay", () => {
  for (let bits = 0; bits < 0x10000; bits++) {
    const number = halfToNumber(bits);
    if (!Number.isNaN(number)) assert.equal(array("float16", [], [number]).data[0], bits); // of NaN there are many
  }
  const ties = [1 + 2 ** -11, 1 + 3 * 2 ** -11, 65519.99, 65520, Number.NaN];
  assert.deepEqual([...array("float16", [5], ties).data], [0x3c00, 0x3c02, 0x7bff, 0x7c00, 0x7e00]);
  assert.equal(Scalar.of("float16", 0.5).value, 0.5);
});

test("the data of an array has to fit its shape", () => {
  assert.throws(() => new NdArray("float32", [3], Float32Array.of(1)), RangeError);
  assert.throws(() => array("int8", [2], [1]), RangeError);
});

test("bytes that are no message are refused, whatever they are", () => {
  const whole = encodeValue(SAME["array"] as Value);
  for (let length = 1; length < whole.length; length++)
    assert.throws(() => decodeValue(whole.subarray(0, length)), { reason: "INTERNAL" });
});

const HALF = "a\ud83d";

for (const value of [
  HALF,
  [HALF],
  { [HALF]: 1 },
  new TextStream(HALF),
  new EnumMember("E", HALF),
] as Value[]) {
  test(`a lone surrogate is not sent as another character: ${value?.constructor.name}`, () => {
    assert.throws(() => encodeValue(value, "action"), /action.* is a text with a lone surrogate/);
  });
}
