/** The golden values of protos/vectors, read and written. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { decodeValue, encodeValue } from "../src/index.js";

interface Vector {
  name: string;
  canonical: boolean;
  hex: string;
}

const vectors: Vector[] = JSON.parse(readFileSync("../../protos/vectors/values.json", "utf8"));
const bytesOf = ({ hex }: Vector) => new Uint8Array(Buffer.from(hex, "hex"));

for (const vector of vectors.filter(({ name }) => name !== "opaque")) {
  test(`value ${vector.name}: read and written`, () => {
    const written = Buffer.from(encodeValue(decodeValue(bytesOf(vector)))).toString("hex");
    if (vector.canonical) assert.equal(written, vector.hex);
    else assert.notEqual(written, vector.hex);
  });
}
