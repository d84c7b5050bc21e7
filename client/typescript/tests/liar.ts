/** A server with configurable answers, over unary calls, the stream and the direct channel. */

import { EventEmitter, once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { Metadata, Server, ServerCredentials, type ServerDuplexStream } from "@grpc/grpc-js";
import { HelloResponseSchema } from "../src/gen/envwire/v1/direct_pb.js";
import {
  MakeResponseSchema,
  ResetResponseSchema,
  StepResponseSchema,
} from "../src/gen/envwire/v1/environment_pb.js";
import { spaces } from "../src/index.js";
import { errorAnswer, Fault } from "../src/kit/faults.js";
import { sequenceOf, takeHeader } from "../src/kit/request_fields.js";
import { encodeSpace } from "../src/spaces/encoding.js";
import { fromBuffer, toBuffer } from "../src/transports/grpc_client.js";
import { toMessage } from "../src/values/messages.js";
import { type Answer, type Request, unwrap, wrap } from "../src/wire/envelope.js";
import { FrameReader, frameOf, PREAMBLE } from "../src/wire/frames.js";
import { KINDS, type Kind, SERVICE } from "../src/wire/kinds.js";

const NOTHING = new Uint8Array(0);
export const SPACE = encodeSpace(spaces.discrete(1_000));
export const WELCOME = toBinary(
  HelloResponseSchema,
  create(HelloResponseSchema, { result: { case: "welcome", value: { maxMessageBytes: 2n ** 20n } } }),
);
type Told = (request: Request) => readonly Answer[] | undefined;

/** It emits "left" when a stream or a direct channel is closed by its client. */
export class Liar extends EventEmitter {
  readonly asked: Kind[] = [];
  /** Connections of the direct channel, and streams. */
  opened = 0;
  /** What is answered to a hello. */
  greeting = WELCOME;
  target = "";
  readonly #grpc = new Server();
  readonly #direct = createServer((socket) => this.#serveDirect(socket));
  readonly #sockets = new Set<Socket>();

  /** @param told What is answered to a request in place of the truth; several answers go where there is no unary call. */
  constructor(public told: Told = () => undefined) {
    super();
  }

  async listen(): Promise<this> {
    const plain = { requestSerialize: toBuffer, requestDeserialize: fromBuffer };
    const coded = { ...plain, responseSerialize: toBuffer, responseDeserialize: fromBuffer };
    const methods = Object.entries(KINDS).map(([kind, { method }]) => [kind as Kind, method] as const);
    const definition = Object.fromEntries(
      [...methods.map(([, name]) => [name, false] as const), ["Interact", true] as const].map(
        ([name, stream]) => [
          name,
          { path: `/${SERVICE}/${name}`, requestStream: stream, responseStream: stream, ...coded },
        ],
      ),
    );
    const handlers = Object.fromEntries(
      methods.map(([kind, name]) => [
        name,
        (call: { request: Uint8Array }, send: (error: unknown, body?: Uint8Array) => void) => {
          const [answer] = this.#answers({ kind, body: call.request });
          if (answer?.kind !== "error") send(null, answer?.body);
          else send({ code: 11, details: "", metadata: detailed(answer.body) });
        },
      ]),
    );
    const Interact = (call: ServerDuplexStream<Uint8Array, Uint8Array>) => {
      this.opened += 1;
      call.on("data", (message: Uint8Array) => {
        for (const { kind, body } of this.#answers(unwrap(message) as Request))
          call.write(wrap(kind, NOTHING, body));
      });
      call.on("end", () => call.end());
      call.on("error", () => {});
      call.on("cancelled", () => this.emit("left"));
    };
    this.#grpc.addService(definition as never, { ...handlers, Interact } as never);
    this.#direct.listen(0, "127.0.0.1");
    await once(this.#direct, "listening");
    this.target = await new Promise((resolve) => {
      this.#grpc.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (_, port) =>
        resolve(`127.0.0.1:${port}`),
      );
    });
    return this;
  }

  #serveDirect(socket: Socket): void {
    this.opened += 1;
    this.#sockets.add(socket);
    const frames = new FrameReader(2 ** 20, false);
    let greeted = false;
    let preamble = PREAMBLE.length;
    socket.on("error", () => {});
    socket.on("close", () => this.emit("left"));
    socket.on("data", (chunk) => {
      const skipped = Math.min(preamble, chunk.length);
      preamble -= skipped;
      frames.push(chunk.subarray(skipped), ({ message }) => {
        if (!greeted) {
          greeted = true;
          socket.write(frameOf(this.greeting));
          return;
        }
        const answers = this.#answers(unwrap(message) as Request);
        socket.write(Buffer.concat(answers.map(({ kind, body }) => frameOf(wrap(kind, NOTHING, body)))));
      });
    });
  }

  #answers(request: Request): readonly Answer[] {
    this.asked.push(request.kind);
    return this.told(request) ?? [this.truth(request)];
  }

  /** The observation of a step is the number of its request. */
  truth({ kind, body }: Request): Answer {
    if (kind === "make") return { kind, body: this.made() };
    if (kind !== "reset" && kind !== "step") return { kind, body: NOTHING };
    const fields = { observation: toMessage(sequenceOf(takeHeader(body).body)) };
    if (kind === "step")
      return { kind, body: toBinary(StepResponseSchema, create(StepResponseSchema, fields)) };
    return { kind, body: toBinary(ResetResponseSchema, create(ResetResponseSchema, fields)) };
  }

  get directPort(): number {
    return (this.#direct.address() as AddressInfo).port;
  }

  /** Sends bytes to all who have a direct channel. */
  push(bytes: Uint8Array): void {
    for (const socket of this.#sockets) if (!socket.destroyed) socket.write(bytes);
  }

  made(fields: object = {}): Uint8Array {
    const made = {
      sessionId: "s",
      observationSpace: SPACE,
      actionSpace: SPACE,
      lease: { seconds: 60n },
      capabilities: ["chunk"],
      direct: { addresses: [`:${this.directPort}`] },
      ...fields,
    };
    return toBinary(MakeResponseSchema, create(MakeResponseSchema, made));
  }

  close(): void {
    this.#grpc.forceShutdown();
    this.#direct.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

function detailed(status: Uint8Array): Metadata {
  const metadata = new Metadata();
  metadata.set("grpc-status-details-bin", toBuffer(status));
  return metadata;
}

export function gap(expected: string): Answer {
  return errorAnswer(new Fault("SEQUENCE_GAP", "another number is next", { expected }));
}
