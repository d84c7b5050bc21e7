/** The environment kit, driven by this package's own client over every transport. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createConnection } from "node:net";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { errorFromStatus } from "../src/errors.js";
import { HelloRequestSchema } from "../src/gen/envwire/v1/direct_pb.js";
import { InteractRequestSchema, StepRequestSchema } from "../src/gen/envwire/v1/environment_pb.js";
import { connect, EnvwireError, Generator, type RunningServer, serve, ValueError } from "../src/index.js";
import { toMessage } from "../src/values/messages.js";
import { frameOf, PREAMBLE } from "../src/wire/frames.js";
import { Counting } from "./counting.js";
import { CuttingProxy } from "./proxy.js";

const TRANSPORTS = ["unary", "stream", "direct"] as const;
const WAIT = { timeout: 5_000 };

function withReason(reason: string) {
  return (error: unknown) => error instanceof EnvwireError && error.reason === reason;
}

let server: RunningServer;
let latest: Counting;

before(async () => {
  const make = () => {
    latest = new Counting();
    return latest;
  };
  server = await serve(
    { "Counting-v0": make, "Short-v0": () => new Counting(3) },
    { port: 0, maxLease: 0.4 },
  );
});

after(() => server.close());

for (const transport of TRANSPORTS) {
  describe(transport, () => {
    const open = () => connect(server.target, { transport }).make("Counting-v0", { renderMode: "ansi" });

    test("an episode", async () => {
      await using env = await open();
      assert.equal(env.raw.transport.name, transport);
      const { observation, info } = await env.reset({ seed: 42, options: { level: 3 } });
      assert.equal(observation, 0);
      assert.deepEqual(info, { draw: new Generator(42).random(), options: { level: 3 } });
      assert.deepEqual(await env.step(1), {
        observation: 1,
        reward: 1,
        terminated: false,
        truncated: false,
        info: { half: 0.5 },
      });
      assert.equal(await env.render(), "1");
      assert.equal(await env.getAttribute("steps"), 1);
      assert.equal(await env.call("double", [21]), 42);
    });

    test("errors have their reasons, and the session goes on", async () => {
      await using env = await open();
      await assert.rejects(env.step(1), withReason("RESET_NEEDED"));
      await env.reset();
      await assert.rejects(env.step(7), withReason("INVALID_ACTION"));
      await assert.rejects(env.step("left"), withReason("INVALID_ACTION"));
      await assert.rejects(env.getAttribute("length"), withReason("ATTRIBUTE_MISSING"));
      await assert.rejects(env.step(2), (error) => {
        assert.ok(error instanceof EnvwireError);
        assert.equal(error.reason, "ENVIRONMENT_RAISED");
        assert.deepEqual(error.remote, { typeName: "RangeError", text: "two is too many" });
        return error.traceback.length > 0;
      });
      assert.equal((await env.step(1)).observation, 1);
    });

    test("chunks stop where the episode ends, and where a step fails", async () => {
      await using env = await connect(server.target, { transport }).make("Short-v0");
      await env.reset();
      const { steps, error } = await env.stepMany([1, 2, 1]);
      assert.equal(steps.length, 1);
      assert.equal(error?.reason, "ENVIRONMENT_RAISED");
      assert.equal((await env.stepMany([0, 0, 0, 0, 0])).steps.length, 2);
    });

    test("a call that is aborted, or takes too long, leaves the session usable and no step is taken twice", async () => {
      await using env = await open();
      await env.reset();
      await assert.rejects(env.step(3, { timeout: 0.03 }), withReason("DEADLINE_EXCEEDED"));
      assert.equal((await env.step(1)).observation, 2);
      await assert.rejects(env.step(3, { signal: AbortSignal.timeout(30) }), withReason("CANCELLED"));
      assert.equal((await env.step(1)).observation, 4);
    });

    test("calls that are made side by side are served in order", async () => {
      await using env = await open();
      await env.reset();
      const steps = await Promise.all([env.step(1), env.step(3), env.step(1), env.step(1)]);
      assert.deepEqual(
        steps.map(({ observation }) => observation),
        [1, 2, 3, 4],
      );
    });

    test("an idle session lives on, and one that nobody has any more ends", async () => {
      const env = await open();
      await env.reset();
      await sleep(1_000);
      assert.equal((await env.step(1)).observation, 1);
      await env.close();
      assert.ok(latest.closed);
      await assert.rejects(env.step(1), withReason("SESSION_CLOSED"));
    });

    test("a vector of 8: one message for all of them", async () => {
      await using env = await connect(server.target, { transport }).makeVector("Short-v0", 8);
      const { observations, infos } = await env.reset({ seed: 5 });
      assert.deepEqual([...(observations as { data: BigInt64Array }).data], Array(8).fill(0n));
      const draws = Array.from({ length: 8 }, (_, index) => new Generator(5 + index).random());
      assert.deepEqual([...((infos as Record<string, { data: Float64Array }>)["draw"]?.data ?? [])], draws);
      for (let count = 1; count <= 3; count++) {
        const step = await env.step(new BigInt64Array(8).fill(1n));
        assert.equal((step.terminations.data as Uint8Array)[0], count === 3 ? 1 : 0);
      }
      const next = await env.step(new BigInt64Array(8)); // the autoreset
      assert.equal((next.observations as { data: BigInt64Array }).data[0], 0n);
    });
  });
}

describe("exactly once", () => {
  const request = (sequence: number, action = 1) => {
    const fields = { sequence: BigInt(sequence), action: toMessage(action) };
    return { kind: "step", body: toBinary(StepRequestSchema, create(StepRequestSchema, fields)) } as const;
  };

  test("a repeated request gets its kept answer, another one under its number an error", async () => {
    await using env = await connect(server.target, { transport: "unary" }).make("Counting-v0");
    await env.reset();
    const { control, session } = env.raw;
    const first = await control.exchange(request(2), session.header, WAIT);
    const again = await control.exchange(request(2), session.header, WAIT);
    assert.deepEqual(again, first);
    assert.equal(latest.steps, 1);
    assert.equal((await control.exchange(request(2, 0), session.header, WAIT)).kind, "error");
    assert.equal((await control.exchange(request(9), session.header, WAIT)).kind, "error");
    assert.equal(latest.steps, 1);
  });

  test("a session that its client left ends with its lease", async () => {
    const env = await connect(server.target, { transport: "unary" }).make("Counting-v0");
    await env.reset();
    const { control, session } = env.raw;
    const { header } = session;
    session.end(); // the keeper renews no longer
    await sleep(1_200);
    assert.ok(latest.closed);
    const { errorFromStatus } = await import("../src/errors.js");
    const { kind, body } = await control.exchange(request(2), header, WAIT);
    assert.equal(kind, "error");
    assert.equal(errorFromStatus(body).reason, "SESSION_EXPIRED");
    await env.close();
  });
});

test("a token is asked for, over every method but health", async () => {
  await using guarded = await serve({ "Counting-v0": () => new Counting() }, { port: 0, token: "s3cret" });
  await assert.rejects(connect(guarded.target).make("Counting-v0"), withReason("UNAUTHENTICATED"));
  await using env = await connect(guarded.target, { token: "s3cret" }).make("Counting-v0");
  assert.equal((await env.reset()).observation, 0);
});

test("a client learns from a restarted server that its session is gone", async () => {
  const registry = { "Counting-v0": () => new Counting() };
  const first = await serve(registry, { port: 0 });
  const { target } = first;
  await using env = await connect(target).make("Counting-v0");
  await env.reset();
  await first.close(); // its direct port and Unix socket as well
  await using _second = await serve(registry, { port: Number(target.split(":").at(-1)) });
  await assert.rejects(env.step(1), withReason("UNKNOWN_SESSION"));
  await assert.rejects(env.step(1), withReason("SESSION_CLOSED"));
});

test("a lease that is no time is refused, and one without end is the longest", async () => {
  const here = connect(server.target);
  for (const lease of [-1, Number.NaN]) await assert.rejects(here.make("Counting-v0", { lease }), ValueError);
  await using env = await here.make("Counting-v0", { lease: Number.POSITIVE_INFINITY });
  await env.reset();
});

test("a token that no header can carry is refused, without being shown", async () => {
  for (const token of ["s3cret\n", "s3crét"])
    await assert.rejects(connect(server.target, { token }).make("Counting-v0"), (error: Error) => {
      assert.ok(error instanceof ValueError);
      return !error.message.includes("s3cr");
    });
});

test("a token does not leave the machine in the clear", async () => {
  const token = "s3cret";
  for (const target of ["192.0.2.1:50051", "dns:///farm.example:50051", "unixy:1", "127.0.0.1:1,192.0.2.1:1"])
    await assert.rejects(connect(target, { token }).make("Counting-v0"), /not sent to .* without TLS/);
  for (const target of ["127.0.0.1:1", "ipv4:127.0.0.1:1", "[::1]:1", "unix:/nowhere/socket"])
    await assert.rejects(connect(target, { token, timeout: 0.5 }).make("Counting-v0"), EnvwireError);
  const there = connect("192.0.2.1:50051", { token, insecure: true, timeout: 0.5 });
  await assert.rejects(there.make("Counting-v0"), EnvwireError);
});

test("what is not there is refused", async () => {
  const here = connect(server.target);
  await assert.rejects(here.make("Nothing-v0"), withReason("UNKNOWN_ENVIRONMENT"));
  await assert.rejects(here.make("Counting-v0", { renderMode: "human" }), withReason("INVALID_VALUE"));
  await assert.rejects(
    here.make("Counting-v0", { wrappers: ["TimeLimit"] }),
    withReason("WRAPPER_NOT_ALLOWED"),
  );
  assert.deepEqual(
    (await here.environments()).map(({ spec }) => spec?.id),
    ["Counting-v0", "Short-v0"],
  );
  await assert.rejects(connect("127.0.0.1:1").make("X-v0", { timeout: 5 }), withReason("UNAVAILABLE"));
});

for (const transport of ["unary", "stream", "direct-tcp"] as const) {
  test(`${transport}: 0 steps lost or doubled while a proxy loses requests and answers at random`, async () => {
    const random = new Generator(17);
    const proxy = new CuttingProxy();
    await using behind = await serve({ "Counting-v0": () => new Counting() }, { port: 0 });
    const front = connect(`127.0.0.2:${behind.port}`, { transport });
    const env0 = await connect(behind.target).make("Counting-v0");
    const offered = env0.raw.made.direct?.addresses.find((address) => address.startsWith(":")) ?? "";
    await env0.close();
    await proxy.forward(behind.port);
    await proxy.forward(Number(offered.slice(1)));
    const env = await front.make("Counting-v0");
    try {
      await env.reset();
      for (let count = 1; count <= 400; count++) {
        if (count % 20 === 0) proxy.cutNext(random.integers(0, 2) === 0 ? "request" : "answer");
        assert.equal((await env.step(count % 2)).observation, count);
      }
    } finally {
      await env.close();
      proxy.close();
    }
    assert.equal(proxy.cuts, 20);
    assert.ok(env.resumed > 0, "no step was sent again");
  });
}

test("requests that wait behind an answer are not served once their client is gone", async () => {
  let steps = 0;
  class Large extends Counting {
    override step(action: number) {
      steps++;
      return { observation: 0, reward: action, terminated: false, info: { text: "x".repeat(2 ** 23) } };
    }
  }
  await using large = await serve({ "Large-v0": () => new Large(1000) }, { port: 0 });
  const { made } = (await connect(large.target, { transport: "unary" }).make("Large-v0")).raw;
  const header = { sessionId: made.sessionId, secret: made.secret };
  const port = made.direct?.addresses.find((address) => address.startsWith(":")) ?? "";
  const socket = createConnection(Number(port.slice(1)), "127.0.0.1").on("error", () => {});
  const ask = (request: MessageInitShape<typeof InteractRequestSchema>["request"] & object) =>
    socket.write(frameOf(toBinary(InteractRequestSchema, create(InteractRequestSchema, { request }))));
  socket.write(PREAMBLE);
  socket.write(frameOf(toBinary(HelloRequestSchema, create(HelloRequestSchema, { header }))));
  ask({ case: "reset", value: { sequence: 1n } });
  const action = { kind: { case: "intValue", value: 1n } } as const;
  for (let sequence = 2n; sequence < 100n; sequence++) ask({ case: "step", value: { sequence, action } });
  while (steps === 0) await once(socket, "data", { signal: AbortSignal.timeout(5_000) });
  socket.resetAndDestroy();
  await (await connect(large.target, { transport: "unary" }).make("Large-v0")).close();
  assert.ok(steps < 20, `${steps} steps`);
});

test("a session that ended keeps neither its environment nor its last answer", async () => {
  const made: WeakRef<object>[] = [];
  class Watched extends Counting {
    constructor() {
      super();
      made.push(new WeakRef(this));
    }
    override reset(...given: Parameters<Counting["reset"]>) {
      const start = super.reset(...given);
      made.push(new WeakRef(start));
      return start;
    }
  }
  await using watched = await serve({ "Watched-v0": () => new Watched() }, { port: 0, maxLease: 0.1 });
  const closed = await connect(watched.target).make("Watched-v0");
  await closed.reset();
  await closed.close();
  const left = await connect(watched.target, { transport: "unary" }).make("Watched-v0");
  left.raw.session.end(); // the keeper renews no longer
  while ((await connect(watched.target).info()).activeSessions > 0) await sleep(20);
  setFlagsFromString("--expose-gc");
  for (let runs = 0; runs < 5 && made.some((each) => each.deref() !== undefined); runs++) {
    await sleep(0);
    runInNewContext("gc")(); // a collection that was under way may keep what it had seen already
  }
  assert.deepEqual(
    made.map((each) => each.deref()),
    [undefined, undefined, undefined],
  );
  await left.close();
});

test("a request whose parts cannot be read is malformed, whichever way it comes", async () => {
  const parts = { step: 3, reset: 3, setAttribute: 4, callMethod: 4, replay: 6 } as const;
  for (const transport of TRANSPORTS) {
    await using env = await connect(server.target, { transport }).make("Counting-v0");
    for (const [kind, field] of Object.entries(parts) as [keyof typeof parts, number][]) {
      const { session, transport: way } = env.raw;
      const request = { kind, body: Uint8Array.of(0x10, ++session.sequence, 8 * field + 2, 2, 0x52, 9) };
      const { kind: answered, body } = await way.exchange(request, session.header, WAIT);
      assert.equal(answered, "error");
      assert.equal(errorFromStatus(body).reason, "MALFORMED_REQUEST", kind);
    }
  }
});
