/** Encoded attachments are read, within limits, where Node.js has Zstandard. */

import assert from "node:assert/strict";
import { test } from "node:test";
import * as zlib from "node:zlib";
import { Decoder, ENCODED, ENCODINGS } from "../src/wire/encodings.js";

const compress = (zlib as { zstdCompressSync?: (data: Uint8Array) => Uint8Array }).zstdCompressSync;
const skip = compress === undefined ? "this Node.js has no Zstandard" : false;
const [ZSTD, XOR] = [ENCODED + 1, ENCODED + 2];
const squeezed = (data: Uint8Array) => compress?.(data) as Uint8Array;

/** Returns bytes that depend on a seed. */
const picture = (seed: number, length: number) => Uint8Array.from({ length }, (_, at) => (at * seed) >> 3);

test("without Zstandard no encoding is asked for", () => {
  assert.equal(ENCODINGS.length, compress === undefined ? 0 : 2);
});

for (const length of [1, 200, 300, 70_000, 3_000_000]) {
  test(`frames of ${length} bytes, and differences to the one before`, { skip }, () => {
    const decoder = new Decoder(length);
    const [first, second] = [picture(3, length), picture(5, length)];
    const answer = decoder.decode(ZSTD, squeezed(first));
    assert.deepEqual(answer, first);
    answer.fill(0);
    const difference = first.map((byte, at) => byte ^ (second[at] as number));
    assert.deepEqual(decoder.decode(XOR, squeezed(difference)), second);
  });
}

test("what is larger than the limit, of another size, or no Zstandard is refused", { skip }, () => {
  const bomb = squeezed(new Uint8Array(1001));
  assert.throws(() => new Decoder(1000).decode(ZSTD, bomb), /1001 bytes, and 1000 are accepted/);
  assert.throws(() => new Decoder(1000).decode(XOR, squeezed(new Uint8Array(8))), /8 bytes after 0/);
  assert.throws(() => new Decoder(1000).decode(ENCODED + 3, squeezed(new Uint8Array(8))), /encoding 3/);
  assert.throws(() => new Decoder(1000).decode(ZSTD, new Uint8Array(40)), /undefined bytes/);
  assert.throws(() => new Decoder(1000).decode(ZSTD, squeezed(picture(3, 500)).subarray(0, 30)), {
    name: "FrameError",
  });
});
