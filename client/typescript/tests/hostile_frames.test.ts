/** Frames that no honest server sends on a direct channel: each is an error in time, and takes no memory. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { MakeResponseSchema } from "../src/gen/envwire/v1/environment_pb.js";
import { EnvwireError } from "../src/index.js";
import { DirectTransport } from "../src/transports/direct.js";
import { frameOf } from "../src/wire/frames.js";
import { readStepAnswer } from "../src/wire/steps.js";
import { WELCOME } from "./liar.js";

const MIB = 2 ** 20;
const NOTHING = new Uint8Array(0);
let answer: (socket: Socket) => void;
const server = createServer((socket) => {
  socket.on("error", () => {});
  socket.once("data", () => {
    socket.write(frameOf(WELCOME));
    socket.on("data", () => answer(socket));
  });
});

before(() => once(server.listen(0, "127.0.0.1"), "listening"));
after(() => server.close());

function header(message: number, attachments = 0n): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt32LE(message, 0);
  bytes.writeBigUInt64LE(attachments, 8);
  return bytes;
}

/** Flows until the client hangs up. */
function flood(socket: Socket): void {
  const chunk = Buffer.alloc(65_536);
  const more = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on("drain", more);
  more();
}

const FRAMES: Record<string, (socket: Socket) => void> = {
  silence: () => {},
  "half a header": (socket) => socket.write(header(10).subarray(0, 7)),
  "half a frame": (socket) => socket.write(Buffer.concat([header(1_000), Buffer.alloc(10)])),
  "a message of 4 GiB": (socket) => socket.write(header(2 ** 32 - 1)),
  "attachments of 2^63 bytes": (socket) => socket.write(header(0, 2n ** 63n)),
  "a stream without an end": (socket) => {
    socket.write(header(2 ** 32 - 1, 2n ** 40n));
    flood(socket);
  },
  "the end": (socket) => socket.destroy(),
};

for (const [name, said] of Object.entries(FRAMES))
  test(name, { timeout: 20_000 }, async () => {
    answer = said;
    const addresses = [`:${(server.address() as AddressInfo).port}`];
    const made = create(MakeResponseSchema, { direct: { addresses } });
    const transport = new DirectTransport("127.0.0.1:1", made, {}, {} as never);
    assert.ok(await transport.open());
    const before = process.memoryUsage().rss;
    await assert.rejects(
      transport.exchange({ kind: "step", body: NOTHING }, NOTHING, { timeout: 500 }),
      EnvwireError,
    );
    transport.close();
    assert.ok(process.memoryUsage().rss - before < 64 * MIB);
  });

test("values that nest without end", () => {
  let value: Uint8Array = Buffer.of(0x0a, 0);
  for (let depth = 0; depth < 10_000; depth++) {
    const list = delimited(0x0a, value);
    value = delimited(0x52, list);
  }
  assert.throws(() => readStepAnswer(delimited(0x0a, value)), EnvwireError);
});

function delimited(tag: number, bytes: Uint8Array): Buffer {
  const length: number[] = [];
  let left = bytes.length;
  for (; left >= 0x80; left >>>= 7) length.push((left & 0x7f) | 0x80);
  return Buffer.concat([Buffer.of(tag, ...length, left), bytes]);
}
