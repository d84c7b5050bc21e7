/** The generator beside NumPy's: tests/data/numpy_random.json holds what NumPy drew. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Generator } from "../src/index.js";

interface Drawn {
  seed: string;
  state: string;
  inc: string;
  random: number[];
  integers: [number, number, number][];
  uniform: number[];
}

const drawn: Drawn[] = JSON.parse(readFileSync("tests/data/numpy_random.json", "utf8"));

for (const expected of drawn) {
  test(`seed ${expected.seed} draws what NumPy draws`, () => {
    const generator = new Generator(BigInt(expected.seed));
    assert.equal(String(generator.bits.state.state), expected.state);
    assert.equal(String(generator.bits.state.inc), expected.inc);
    assert.deepEqual(
      expected.random.map(() => generator.random()),
      expected.random,
    );
    for (const [low, high, number] of expected.integers) assert.equal(generator.integers(low, high), number);
    assert.deepEqual(
      expected.uniform.map(() => generator.uniform(-3, 7)),
      expected.uniform,
    );
  });
}

test("a state that is restored goes on as before", () => {
  const one = new Generator(7);
  one.integers(0, 10);
  const { state } = one.bits;
  const other = new Generator(8);
  other.bits.state = state;
  assert.equal(other.integers(0, 1000), one.integers(0, 1000));
  assert.equal(other.random(), one.random());
});

test("an empty range is refused", () => {
  assert.throws(() => new Generator(0).integers(3, 3), RangeError);
});
