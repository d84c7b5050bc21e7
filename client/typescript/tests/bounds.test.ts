/** Unread, unanswered or unclosed connections cost a bounded amount of memory and time. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect as connectTcp, createServer } from "node:net";
import { after, before, test } from "node:test";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { HelloResponseSchema } from "../src/gen/envwire/v1/direct_pb.js";
import { InteractRequestSchema, MakeResponseSchema } from "../src/gen/envwire/v1/environment_pb.js";
import { connect, EnvwireError, type RunningServer, type ServeOptions, serve } from "../src/index.js";
import { DirectTransport } from "../src/transports/direct.js";
import { fromBuffer, toBuffer } from "../src/transports/grpc_client.js";
import { frameOf } from "../src/wire/frames.js";
import { Counting } from "./counting.js";

class Large extends Counting {
  static steps = 0;
  override step(action: number) {
    Large.steps++;
    return { observation: 0, reward: action, info: { text: "x".repeat(2 ** 21) } };
  }
}

class Formless extends Counting {
  override step(): never {
    throw Object.assign(new Error("no"), { args: [Symbol("has no wire form")] });
  }
}

let server: RunningServer;
const made: Counting[] = [];

before(async () => {
  const make = () => {
    const env = new Counting();
    made.push(env);
    return env;
  };
  const registry = {
    "Counting-v0": make,
    "Large-v0": () => new Large(),
    "Formless-v0": () => new Formless(),
    "Never-v0": () => new Promise<Counting>(() => {}),
    "Once-v0": () => {
      if (made.length > 0) throw new Error("there is one");
      return make();
    },
  };
  server = await serve(registry, { port: 0, stepTimeout: 0.5, maxSessions: 3 });
});

after(() => server.close());

function withReason(reason: string) {
  return (error: unknown) => error instanceof EnvwireError && error.reason === reason;
}

test("a stream whose client reads nothing keeps no answers", async () => {
  await using env = await connect(server.target, { transport: "unary" }).make("Large-v0");
  await env.reset();
  const { made, control } = env.raw;
  const header = { sessionId: made.sessionId, secret: made.secret };
  const { client, metadata } = control.connection;
  const path = "/envwire.v1.EnvironmentService/Interact";
  const stream = client.makeBidiStreamRequest<Uint8Array, Uint8Array>(path, toBuffer, fromBuffer, metadata);
  stream.on("error", () => {});
  const ask = (request: MessageInitShape<typeof InteractRequestSchema>["request"] & object) =>
    stream.write(toBinary(InteractRequestSchema, create(InteractRequestSchema, { request })));
  const action = { kind: { case: "intValue", value: 1n } } as const;
  for (let sequence = 2n; sequence < 60n; sequence++)
    ask({ case: "step", value: { header, sequence, action } });
  const other = await connect(server.target).make("Counting-v0");
  for (let asked = 0; asked < 300; asked++) await other.hasAttribute("steps");
  await other.close();
  assert.ok(Large.steps < 10, `${Large.steps} steps`);
  stream.cancel();
});

test("an environment that is never made does not keep its place", async () => {
  for (let count = 0; count < 4; count++)
    await assert.rejects(connect(server.target).make("Never-v0"), withReason("STEP_TIMEOUT"));
});

test("what was made for a session that does not come about is closed", async () => {
  const here = connect(server.target);
  made.length = 0;
  await assert.rejects(here.makeVector("Once-v0", 2), withReason("ENVIRONMENT_RAISED"));
  await assert.rejects(here.make("Counting-v0", { renderMode: "human" }), withReason("INVALID_VALUE"));
  assert.deepEqual(
    made.map(({ closed }) => closed),
    [true, true],
  );
});

test("a session whose client cannot use it is closed", async () => {
  await using plain = await serve({ "Counting-v0": () => new Counting() }, { port: 0, direct: false });
  const here = connect(plain.target, { transport: "direct" });
  await assert.rejects(here.make("Counting-v0"), withReason("UNAVAILABLE"));
  assert.equal((await here.info()).activeSessions, 0);
});

test("an error whose arguments have no wire form is an answer", async () => {
  await using env = await connect(server.target).make("Formless-v0");
  await env.reset();
  for (let count = 0; count < 2; count++) await assert.rejects(env.step(1), withReason("ENVIRONMENT_RAISED"));
});

test("a timeout may be longer than a timer", async () => {
  for (const transport of ["direct", "stream", "unary"] as const) {
    await using env = await connect(server.target, { transport }).make("Counting-v0");
    await env.reset();
    assert.equal((await env.step(3, { timeout: Number.POSITIVE_INFINITY })).observation, 1);
  }
});

test("a server whose port is taken listens nowhere", { timeout: 10_000 }, async () => {
  const listening = () => process.getActiveResourcesInfo().filter((name) => /server/i.test(name)).length;
  const before = listening();
  await assert.rejects(serve({}, { port: server.port }), /EADDRINUSE/);
  while (listening() > before) await new Promise(setImmediate);
});

test("a channel whose server says something else than welcome is closed", { timeout: 10_000 }, async () => {
  const strange = createServer().listen(0, "127.0.0.1");
  await once(strange, "listening");
  const closed = once(strange, "connection").then(([socket]) => {
    socket.resume().write(frameOf(toBinary(HelloResponseSchema, create(HelloResponseSchema))));
    return once(socket, "close");
  });
  const { port } = strange.address() as AddressInfo;
  const made = create(MakeResponseSchema, { direct: { addresses: [`:${port}`] } });
  assert.equal(await new DirectTransport("127.0.0.1:1", made, {}, {} as never).open(), false);
  await closed;
  strange.close();
});

test("of many addresses of a direct channel a few are tried", { timeout: 10_000 }, async () => {
  let dialled = 0;
  const closing = createServer((socket) => {
    dialled++;
    socket.destroy();
  }).listen(0, "127.0.0.1");
  await once(closing, "listening");
  const addresses = Array(2_000).fill(`:${(closing.address() as AddressInfo).port}`);
  const made = create(MakeResponseSchema, { direct: { addresses } });
  assert.equal(await new DirectTransport("127.0.0.1:1", made, {}, {} as never).open(), false);
  assert.equal(dialled, 8);
  closing.close();
});

test("the gRPC port takes so many connections, and others when they are gone", {
  timeout: 20_000,
}, async () => {
  await using small = await serve({ "Counting-v0": () => new Counting() }, { port: 0, maxSessions: 1 });
  const taken = await Promise.all(
    Array.from({ length: 4 + 256 }, async () => {
      const socket = connectTcp(small.port, "127.0.0.1").on("error", () => {});
      await once(socket, "connect");
      return socket;
    }),
  );
  const refused = connectTcp(small.port, "127.0.0.1").resume();
  await once(refused, "close");
  await assert.rejects(connect(small.target).make("Counting-v0"), withReason("UNAVAILABLE"));
  assert.ok(taken.every(({ destroyed }) => !destroyed));
  for (const socket of taken) socket.destroy();
  await using env = await connect(small.target, { timeout: 10 }).make("Counting-v0");
  assert.equal((await env.reset()).observation, 0);
});

test("an option that is undefined is not given", async () => {
  const options = { port: 0, maxSessions: undefined, maxLease: undefined } as unknown as ServeOptions;
  await using plain = await serve({}, options);
  const { maxSessions, maxLease } = await connect(plain.target).info();
  assert.deepEqual([maxSessions, maxLease?.seconds], [64, 3600n]);
});
