/** Spaces: what they contain, and the way to the contract and back. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { toBinary } from "@bufbuild/protobuf";
import { FollowedSpace } from "../src/client/followed_space.js";
import { type BoxSpace, SpaceSchema } from "../src/gen/envwire/v1/spaces_pb.js";
import { array, Graph, NdArray, Scalar, type Space, spaces, tuple, type Value } from "../src/index.js";
import { Box } from "../src/spaces/arrays.js";
import { decodeSpace } from "../src/spaces/decoding.js";
import { encodeSpace } from "../src/spaces/encoding.js";
import { readResetAnswer } from "../src/wire/steps.js";

const BOX = spaces.box(-1, [1, 2], [2]);
const TREE = spaces.dict({ a: BOX, b: spaces.tuple(spaces.discrete(3, -1), spaces.text(4)) });

const CASES: [string, Space, Value[], Value[]][] = [
  [
    "box",
    BOX,
    [array("float32", [2], [-1, 2]), Float32Array.of(0, 0)],
    [
      array("float32", [2], [0, 2.5]),
      array("float64", [2]),
      array("float32", [1]),
      [0, 0],
      Float32Array.of(0, Number.NaN),
    ],
  ],
  [
    "box of bytes",
    spaces.box(0, 255, [1, 2], "uint8"),
    [array("uint8", [1, 2], [0, 255])],
    [Uint8Array.of(0, 255)],
  ],
  [
    "discrete",
    spaces.discrete(3, -1),
    [-1, 1, Scalar.of("int64", 0), 0n],
    [2, -2, 0.5, "0", Scalar.of("float32", 0), true],
  ],
  [
    "multi-binary",
    spaces.multiBinary([2]),
    [array("int8", [2], [0, 1])],
    [array("int8", [2], [0, 2]), array("int8", [3])],
  ],
  [
    "multi-discrete",
    spaces.multiDiscrete([2, 3]),
    [array("int64", [2], [1, 2]), array("int32", [2], [0, 0])],
    [array("int64", [2], [2, 0]), array("float64", [2])],
  ],
  ["text", spaces.text(3), ["a", "abc"], ["", "abcd", "ä", 1]],
  [
    "tree",
    TREE,
    [{ a: Float32Array.of(0, 0), b: tuple(0, "x") }],
    [{ a: Float32Array.of(0, 0) }, { a: Float32Array.of(0, 0), b: tuple(0, "x"), c: 1 }, null],
  ],
  [
    "one of",
    spaces.oneOf(spaces.discrete(2), spaces.text(2)),
    [tuple(0, 1), tuple(1, "a")],
    [tuple(1, 1), tuple(2, 0), [0, 1]],
  ],
  ["sequence", spaces.sequence(spaces.discrete(2)), [tuple(), tuple(0, 1)], [tuple(2), [0]]],
  ["graph", spaces.graph(spaces.discrete(2)), [new Graph(tuple(0))], [tuple(0)]],
];

for (const [name, space, inside, outside] of CASES) {
  test(`${name}: contains`, () => {
    for (const value of inside) assert.ok(space.contains(value));
    for (const value of outside) assert.ok(!space.contains(value));
  });
  test(`${name}: samples are in the space, and a seed repeats them`, () => {
    space.seed(1);
    const drawn = Array.from({ length: 50 }, () => space.sample());
    assert.ok(drawn.every((value) => space.contains(value)));
    space.seed(1);
    assert.deepEqual(
      drawn,
      Array.from({ length: 50 }, () => space.sample()),
    );
  });
  test(`${name}: arrives as it was sent`, () => {
    const message = encodeSpace(space);
    assert.deepEqual(encodeSpace(decodeSpace(message)), message);
  });
}

test("bounds that are the same everywhere are written once", () => {
  const box = (space: Space) => encodeSpace(space).kind.value as BoxSpace;
  const { low, high, boundedBelow } = box(spaces.box(0, 255, [210, 160, 3], "uint8"));
  for (const bound of [low, high, boundedBelow])
    assert.deepEqual([bound?.fill, bound?.data.length, bound?.shape], [true, 1, [210n, 160n, 3n]]);
  assert.equal(box(spaces.box([0, 1], 2, [2])).low?.fill, false);
});

test("a box of float16 is made of numbers, and contains its samples", () => {
  const boxes = [
    spaces.box(0.25, 0.3, [3], "float16"),
    spaces.box(-65504, Number.POSITIVE_INFINITY, [3], "float16"),
  ];
  assert.deepEqual([...(boxes[0]?.low.data ?? [])], [0x3400, 0x3400, 0x3400]);
  for (const box of boxes) for (let drawn = 0; drawn < 100; drawn++) assert.ok(box.contains(box.sample()));
});

test("a box of one number contains its scalars", () => {
  const box = spaces.box(-5, 5, [], "int32");
  assert.ok(box.contains(Scalar.of("int32", 5)));
  assert.ok(!box.contains(Scalar.of("int32", 6)));
  assert.ok(!box.contains(Scalar.of("float64", 5)));
  assert.ok(!spaces.box(-5, 5, [1], "int32").contains(Scalar.of("int32", 5)));
});

test("integers beyond 2^53 are told apart, and drawn", () => {
  const space = spaces.discrete(2 ** 62);
  assert.ok(space.contains(2n ** 62n - 1n));
  assert.ok(space.contains(Scalar.of("int64", 2n ** 62n - 1n)));
  assert.ok(!space.contains(2n ** 62n));
  assert.ok(!space.contains(2 ** 60)); // travels as a float
  for (let drawn = 0; drawn < 50; drawn++) assert.ok(space.contains(space.sample()));
});

test("no sequence of values is a dictionary", () => {
  for (const value of [[], tuple(), new Uint8Array(0), new Set<Value>(), Scalar.of("int8", 0)])
    assert.ok(!spaces.dict({}).contains(value));
  assert.ok(spaces.dict({}).contains({}));
});

test("bounds of float16 are finite where their numbers are", () => {
  const infinite = 0x7c00;
  const [low, high] = [0, infinite].map((bits) => new NdArray("float16", [1], Uint16Array.of(bits)));
  const box = encodeSpace(new Box(low as never, high as never)).kind.value as BoxSpace;
  assert.deepEqual([...(box.boundedBelow?.data ?? [])], [1]);
  assert.deepEqual([...(box.boundedAbove?.data ?? [])], [0]);
});

test("a reset replaces a space, an equal one stays the same object, and without one the first is back", () => {
  const [first, bytes] = [
    spaces.discrete(3),
    (n: number) => toBinary(SpaceSchema, encodeSpace(spaces.discrete(n))),
  ];
  const followed = new FollowedSpace(first);
  followed.follow(undefined);
  assert.equal(followed.present, first);
  const nothing = [0x0a, 2, 0x0a, 0];
  const answer = readResetAnswer(Uint8Array.of(...nothing, 0x3a, bytes(5).length, ...bytes(5)));
  assert.equal(answer.observationSpace, undefined);
  followed.follow(answer.actionSpace);
  assert.ok(followed.present.contains(4));
  const changed = followed.present;
  followed.follow(bytes(5));
  assert.equal(followed.present, changed);
  followed.follow(bytes(2));
  assert.ok(!followed.present.contains(2));
  followed.follow(undefined);
  assert.equal(followed.present, first);
});
