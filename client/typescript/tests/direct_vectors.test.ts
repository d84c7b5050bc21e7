/** The golden frames of protos/vectors/direct.json, read and written. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fromBinary } from "@bufbuild/protobuf";
import { errorFromStatus } from "../src/errors.js";
import { HelloRequestSchema, HelloResponseSchema } from "../src/gen/envwire/v1/direct_pb.js";
import { NdArray } from "../src/index.js";
import { headerField } from "../src/session/client_session.js";
import * as operations from "../src/session/operations.js";
import { unwrapAnswer, wrap } from "../src/wire/envelope.js";
import { type Frame, FrameReader, HEADER_BYTES, PREAMBLE, seal } from "../src/wire/frames.js";
import { readResetAnswer, readStepAnswer } from "../src/wire/steps.js";

interface Vector {
  name: string;
  holds: string;
  header: [number, number, number];
  arrays: { values?: number[] }[];
  hex: string;
}

const vectors: Vector[] = JSON.parse(readFileSync("../../protos/vectors/direct.json", "utf8"));
const bytesOf = ({ hex }: Vector) => new Uint8Array(Buffer.from(hex, "hex"));
const named = (name: string) => vectors.find((each) => each.name === name) as Vector;
const NO_HEADER = new Uint8Array(0);

/** Reads a frame that arrives in pieces of some length. */
function read(bytes: Uint8Array, piece: number): Frame[] {
  const frames: Frame[] = [];
  const reader = new FrameReader(2 ** 20, true);
  for (let at = 0; at < bytes.length; at += piece)
    reader.push(bytes.subarray(at, at + piece), (frame) => frames.push(frame));
  return frames;
}

for (const vector of vectors.filter(({ header }) => header[1] === 0)) {
  test(`${vector.name}: one frame, whatever pieces it comes in`, () => {
    const bytes = bytesOf(vector).subarray(vector.name === "hello" ? PREAMBLE.length : 0);
    for (const piece of [1, 7, 16, bytes.length]) {
      const frames = read(bytes, piece);
      assert.equal(frames.length, 1);
      assert.equal(frames[0]?.message.length, vector.header[0]);
      assert.equal(frames[0]?.attachments?.length ?? 0, vector.header[2]);
    }
  });
}

test("a frame in memory that was not agreed on is refused", () => {
  assert.throws(() => read(bytesOf(named("step, in memory")), 16), { name: "FrameError" });
});

const REQUESTS = {
  reset: operations.reset({ seed: 42 }).write(1),
  step: operations.step(1).write(2),
  close: operations.close().write(3),
} as const;

for (const [name, body] of Object.entries(REQUESTS)) {
  test(`${name} is written byte for byte`, () => {
    const frame = seal(wrap(name as keyof typeof REQUESTS, NO_HEADER, body, HEADER_BYTES));
    assert.deepEqual(frame, bytesOf(named(name)));
  });
}

test("hello and welcome are understood", () => {
  const hello = read(bytesOf(named("hello")).subarray(PREAMBLE.length), 64)[0] as Frame;
  const { header } = fromBinary(HelloRequestSchema, hello.message);
  assert.equal(header?.sessionId, "0123456789abcdef0123456789abcdef");
  assert.equal(
    Buffer.from(headerField(header.sessionId, header.secret)).toString("hex"),
    Buffer.from(hello.message).subarray(0, -2).toString("hex"),
  );
  const welcome = fromBinary(HelloResponseSchema, (read(bytesOf(named("welcome")), 64)[0] as Frame).message);
  assert.equal(welcome.result.case, "welcome");
});

test("inline and attached answers are the same kind of thing", () => {
  for (const name of ["reset, inline", "reset, attached", "step, inline", "step, attached"]) {
    const { message, attachments } = read(bytesOf(named(name)), 100)[0] as Frame;
    const { kind, body } = unwrapAnswer(message, attachments);
    const answer = kind === "reset" ? readResetAnswer(body, attachments) : readStepAnswer(body, attachments);
    assert.ok(containsArray(answer.observation), name);
  }
});

function containsArray(value: unknown): boolean {
  if (value instanceof NdArray) return true;
  if (value === null || typeof value !== "object") return false;
  return Object.values(value).some(containsArray);
}

test("an error keeps its reason", () => {
  const { message } = read(bytesOf(named("error")), 100)[0] as Frame;
  const { kind, body } = unwrapAnswer(message);
  assert.equal(kind, "error");
  assert.match(errorFromStatus(body).reason, /^[A-Z_]+$/);
});
