/** What a server sends that breaks the protocol is an error of this package, and no answer is taken for another one's. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, beforeEach, describe, test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { ConnectionError } from "../src/errors.js";
import { MakeResponseSchema, StepResponseSchema } from "../src/gen/envwire/v1/environment_pb.js";
import { connect, decodeValue, EnvwireError, encodeValue, NdArray } from "../src/index.js";
import { DirectTransport } from "../src/transports/direct.js";
import type { Request } from "../src/wire/envelope.js";
import { frameOf } from "../src/wire/frames.js";
import { gap, Liar, SPACE, WELCOME } from "./liar.js";

const CUT_SHORT = Uint8Array.of(0x0a, 5);
const WAIT = { timeout: 5_000 };
let liar: Liar;

before(async () => {
  liar = await new Liar().listen();
});
beforeEach(() => {
  liar.told = () => undefined;
  liar.greeting = WELCOME;
  liar.asked.length = liar.opened = 0;
});
after(() => liar.close());

function broken(error: unknown): boolean {
  return (
    error instanceof EnvwireError && error.reason === "INTERNAL" && /breaks the protocol/.test(error.message)
  );
}

test("what a server tells of itself that cannot be read", async () => {
  liar.told = ({ kind }) => [{ kind, body: CUT_SHORT }];
  await assert.rejects(connect(liar.target).info(), broken);
  await assert.rejects(connect(liar.target).environments(), broken);
});

test("a Make that cannot be used is closed", async () => {
  const [low, high] = [1, 2].map((length) => ({
    dataType: 8,
    shape: [BigInt(length)],
    data: new Uint8Array(4),
  }));
  const shapes = [
    { actionSpace: undefined },
    { observationSpace: { kind: { case: "box", value: { low, high } } } },
    { metadata: { entries: [{ key: { kind: { case: "noneValue", value: {} } } }] } },
  ];
  for (const lie of shapes) {
    liar.asked.length = 0;
    liar.told = ({ kind }) => (kind === "make" ? [{ kind, body: liar.made(lie) }] : undefined);
    await assert.rejects(connect(liar.target).make("X-v0"), broken);
    assert.deepEqual(liar.asked, ["make", "close"]);
  }
});

test("a step of a vector without its columns", async () => {
  const made = liar.made({ vector: { numEnvs: 2, singleObservationSpace: SPACE, singleActionSpace: SPACE } });
  liar.told = ({ kind }) => (kind === "make" ? [{ kind, body: made }] : undefined);
  await using env = await connect(liar.target).makeVector("X-v0", 2);
  await assert.rejects(env.step([0, 0]), broken);
});

test("a chunk of which no step, or more than asked for, was taken", async () => {
  await using env = await connect(liar.target).make("X-v0");
  for (const count of [0, 3]) {
    const steps = Array.from({ length: count }, () => ({
      observation: { kind: { case: "boolValue", value: true } },
    }));
    const body = toBinary(StepResponseSchema, create(StepResponseSchema, { steps } as never));
    liar.told = ({ kind }) => (kind === "step" ? [{ kind, body }] : undefined);
    await assert.rejects(env.stepMany([0, 0]), broken);
  }
});

test("numbers that cannot be, and numbers without an end", async () => {
  let error = gap("x");
  liar.told = ({ kind }) => (kind === "step" ? [error] : undefined);
  for (const expected of ["x", "-1", "1.5", "1e300"]) {
    error = gap(expected);
    await using env = await connect(liar.target).make("X-v0");
    await assert.rejects(env.step(0), broken);
  }
  error = gap("7");
  await using env = await connect(liar.target).make("X-v0");
  await assert.rejects(env.step(0, { timeout: 0.2 }), { reason: "DEADLINE_EXCEEDED" });
});

test("a value that is read without a server", () => {
  const bytes = encodeValue(new NdArray("object", [2], [0, 0]));
  bytes[bytes.indexOf(2)] = 3;
  for (const lie of [bytes, CUT_SHORT]) assert.throws(() => decodeValue(lie), EnvwireError);
});

test("a channel whose welcome cannot be read is closed, and dialled again", { timeout: 10_000 }, async () => {
  liar.greeting = CUT_SHORT;
  const made = create(MakeResponseSchema, { direct: { addresses: [`:${liar.directPort}`] } });
  const transport = new DirectTransport("127.0.0.1:1", made, {}, {} as never);
  const step = { kind: "step", body: CUT_SHORT } as const;
  await assert.rejects(transport.exchange(step, CUT_SHORT, WAIT), ConnectionError);
  assert.equal(transport.holdsLease, false);
});

test("a server elsewhere names no sockets of this machine", async () => {
  const addresses = ["unix-abstract:envwire-of-another-program"];
  const made = create(MakeResponseSchema, { address: "127.0.0.1:1", direct: { addresses } });
  const transport = new DirectTransport("simulators.example:1", made, {}, {} as never);
  assert.deepEqual(transport.addresses, []);
});

describe("answers in excess", () => {
  for (const transport of ["stream", "direct"] as const) {
    const open = () => connect(liar.target, { transport }).make("X-v0");

    test(`${transport}: behind an answer that comes twice, the connection is another`, WAIT, async () => {
      await using env = await open();
      liar.told = (request) =>
        request.kind === "step" ? [liar.truth(request), liar.truth(request)] : undefined;
      for (let number = 1; number < 5; number++) {
        const left = once(liar, "left");
        assert.equal((await env.step(0)).observation, number);
        await left;
      }
    });

    test(`${transport}: an answer to another request is not taken`, async () => {
      await using env = await open();
      assert.equal((await env.reset()).observation, 1);
      let lies = 1;
      liar.told = (request: Request) => {
        if (request.kind !== "step" || lies-- <= 0) return undefined;
        return [liar.truth({ ...request, kind: "reset" })];
      };
      assert.equal((await env.step(0)).observation, 2);
      assert.equal(env.resumed, 1);
    });
  }

  test("bytes that nobody asked for break a direct channel", WAIT, async () => {
    await using env = await connect(liar.target, { transport: "direct" }).make("X-v0");
    for (const [number, bytes] of [frameOf(CUT_SHORT), Uint8Array.of(1)].entries()) {
      assert.equal((await env.step(0)).observation, number + 1);
      const left = once(liar, "left");
      liar.push(bytes);
      await left;
    }
  });
});
