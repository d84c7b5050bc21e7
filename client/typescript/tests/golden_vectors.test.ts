/** The golden vectors of protos/vectors: values, read and written, and digests. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { decodeValue, encodeValue } from "../src/index.js";
import { RollingDigest } from "../src/kit/replay/digest.js";
import { unwrapAnswer } from "../src/wire/envelope.js";

interface Vector {
  name: string;
  canonical: boolean;
  hex: string;
}

const read = (name: string) => JSON.parse(readFileSync(`../../protos/vectors/${name}.json`, "utf8"));
const vectors: Vector[] = read("values");
const bytesOf = ({ hex }: { hex: string }) => new Uint8Array(Buffer.from(hex, "hex"));

for (const vector of vectors.filter(({ name }) => name !== "opaque")) {
  test(`value ${vector.name}: read and written`, () => {
    const written = Buffer.from(encodeValue(decodeValue(bytesOf(vector)))).toString("hex");
    if (vector.canonical) assert.equal(written, vector.hex);
    else assert.notEqual(written, vector.hex);
  });
}

interface DigestVector {
  name: string;
  answers: (string | null)[];
  digest: string;
}

for (const { name, answers, digest } of read("digests") as DigestVector[]) {
  test(`digest: ${name}`, () => {
    const rolling = new RollingDigest();
    for (const hex of answers) rolling.add(hex === null ? undefined : unwrapAnswer(bytesOf({ hex })));
    assert.equal(Buffer.from(rolling.value()).toString("hex"), digest);
  });
}
