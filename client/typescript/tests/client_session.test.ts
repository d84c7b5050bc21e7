/** The client's session without I/O: what it says to send, and what it makes of what comes back. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { Driver } from "../src/client/driver.js";
import { ConnectionError, EnvwireError } from "../src/errors.js";
import { MakeRequestSchema, MakeResponseSchema } from "../src/gen/envwire/v1/environment_pb.js";
import { errorAnswer, Fault } from "../src/kit/faults.js";
import { sequenceOf } from "../src/kit/request_fields.js";
import { ClientSession } from "../src/session/client_session.js";
import * as operations from "../src/session/operations.js";
import { type Move, moved, type State, TRANSITIONS } from "../src/session/states.js";
import type { Transport } from "../src/transports/transport.js";

const LEASE = 8;

class Story {
  now = 100;
  readonly session = new ClientSession(30, () => this.now);

  constructor(capabilities: string[] = []) {
    this.session.makeRequest(create(MakeRequestSchema, { envId: "X-v0" }));
    const made = create(MakeResponseSchema, {
      sessionId: "s",
      lease: { seconds: BigInt(LEASE) },
      capabilities,
    });
    this.session.receive({ kind: "make", body: toBinary(MakeResponseSchema, made) });
  }

  /** Asks for a step and returns its number. */
  step(): number {
    return sequenceOf(this.session.nextRequest(operations.step(1)).body);
  }

  answer() {
    return this.session.receive({ kind: "step", body: new Uint8Array(0) });
  }

  cut(refused = false) {
    return this.session.connectionLost(new ConnectionError("cut", refused, true));
  }
}

test("requests are numbered from 1, one by one", () => {
  const story = new Story();
  assert.equal(story.step(), 1);
  assert.equal(story.answer().type, "answered");
  assert.equal(story.step(), 2);
});

test("a request whose connection broke is repeated byte for byte", () => {
  const story = new Story();
  const request = story.session.nextRequest(operations.step(1));
  assert.deepEqual(story.cut(), { type: "retryAfter", seconds: 0.02 });
  assert.equal(story.session.repeat(), request);
  story.answer();
  assert.equal(story.session.resumed, 1);
});

test("it is repeated until the lease is over", () => {
  const story = new Story();
  story.step();
  story.cut();
  for (let left = LEASE; left > 0.5; left -= 0.5) {
    story.now += 0.5;
    story.session.repeat();
    const event = story.session.connectionLost(new ConnectionError("dial", false, false));
    assert.equal(event.type, left > 0.5 ? "retryAfter" : "givenUp");
  }
  story.now += 1;
  story.session.repeat();
  assert.equal(story.session.connectionLost(new ConnectionError("dial", false, false)).type, "givenUp");
});

test("where nobody listens any more it is repeated for two seconds", () => {
  const story = new Story();
  story.step();
  story.cut();
  story.now += 2.1;
  story.session.repeat();
  assert.equal(story.cut(true).type, "retryAfter"); // a connection had come about: the lease runs anew
  story.now += 2.1;
  story.session.repeat();
  assert.equal(story.session.connectionLost(new ConnectionError("dial", true, false)).type, "givenUp");
});

test("behind a gateway that is away it is repeated until the lease is over", () => {
  const story = new Story(["relayed"]);
  story.step();
  story.cut();
  story.now += LEASE - 0.1;
  story.session.repeat();
  assert.equal(story.session.connectionLost(new ConnectionError("dial", true, false)).type, "retryAfter");
});

test("a request that nobody waited for is repeated before the next one", () => {
  const story = new Story();
  const request = story.session.nextRequest(operations.step(1));
  story.session.giveUp();
  assert.ok(story.session.inDoubt);
  assert.throws(() => story.step(), { name: "ProtocolError" });
  assert.equal(story.session.repeat(), request);
  story.answer();
  assert.equal(story.step(), 2);
});

test("the number that the server expects is taken", () => {
  const story = new Story();
  story.step();
  const gap = new Fault("SEQUENCE_GAP", "gap", { expected: "5" });
  const event = story.session.receive(errorAnswer(gap));
  assert.ok(event.type === "sendAgain");
  assert.equal(sequenceOf(event.request.body), 5);
});

test("an error uses the number up; one that says that the session is gone ends it", () => {
  const story = new Story();
  story.step();
  assert.equal(story.session.receive(errorAnswer(new Fault("ENVIRONMENT_RAISED", "no"))).type, "refused");
  assert.equal(story.step(), 2);
  story.session.receive(errorAnswer(new Fault("SESSION_EXPIRED", "gone")));
  assert.ok(story.session.ended);
});

test("a value without a wire form leaves the number unused", () => {
  const story = new Story();
  assert.throws(() => story.session.nextRequest(operations.step(undefined as never)), { name: "ValueError" });
  assert.equal(story.step(), 1);
});

test("an answer that breaks the protocol is an EnvwireError", async () => {
  const { session } = new Story();
  const exchange = async () => ({ kind: "step", body: Uint8Array.of(0x0a, 5) });
  const driver = new Driver(session, { exchange } as unknown as Transport);
  await assert.rejects(driver.serve(operations.step(1)), (error) => {
    return (
      error instanceof EnvwireError &&
      error.reason === "INTERNAL" &&
      /breaks the protocol/.test(error.message)
    );
  });
  assert.equal(session.pending, false);
});

test("every move that the table does not have is refused", () => {
  const moves: Move[] = [
    "MAKE",
    "MADE",
    "REQUEST",
    "ANSWER",
    "RENUMBER",
    "CUT",
    "REPEAT",
    "GIVE_UP",
    "TAKE_BACK",
    "END",
  ];
  for (const state of Object.keys(TRANSITIONS) as State[])
    for (const move of moves)
      if (TRANSITIONS[state][move] === undefined)
        assert.throws(() => moved(state, move), { name: "ProtocolError" });
});
