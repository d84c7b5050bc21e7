/** One connection to the direct port: a preamble, a hello, optionally a Make, and then the requests of a session. */

import { once } from "node:events";
import type { Socket } from "node:net";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type HelloRequest, HelloRequestSchema, HelloResponseSchema } from "../gen/envwire/v1/direct_pb.js";
import { MakeResponseSchema } from "../gen/envwire/v1/environment_pb.js";
import { type ErrorStatus, ErrorStatusSchema } from "../gen/envwire/v1/status_pb.js";
import { AdaptiveSpin } from "../transports/adaptive_spin.js";
import { type Answer, unwrap, wrap, wrapStart } from "../wire/envelope.js";
import { FrameError, FrameReader, frameOf, HEADER_BYTES, PREAMBLE, seal } from "../wire/frames.js";
import { errorAnswer, Fault, faultOf, statusOf } from "./faults.js";
import { type LentConnections, LOAN, OWN_REQUEST, RECALL } from "./lent_connections.js";
import type { Settings } from "./options.js";
import { parseRequest } from "./request_fields.js";
import type { Service } from "./service.js";
import type { Session } from "./session.js";
import { checkToken } from "./token.js";

export const HELLO_MILLISECONDS = 5_000;
const MAX_HELLO_BYTES = 1_024;
/** Data after a refused hello is discarded, so that its client can read the error. */
const DISCARDED_OF_STRANGERS = { bytes: 2 ** 20, milliseconds: 1_000 };
/** The same after an accepted `make`. */
const DISCARDED_OF_CLIENTS = { bytes: 2 ** 26, milliseconds: 5_000 };
/** Time for which a client may read nothing while an answer is being sent. */
const SEND_MILLISECONDS = 30_000;
/** Size of one write: large enough to be cheap, small enough to notice whether the client reads. */
const MAX_PIECE_BYTES = 2 ** 20;
const NO_HEADER = new Uint8Array(0);
/** Requests that are not allowed on a direct channel. */
const CONTROL = new Set(["make", "listEnvironments", "getServerInfo", "renewLease", "getSessionStats"]);

type Greeting = NonNullable<MessageInitShape<typeof HelloResponseSchema>["result"]>;

/** What the connections of a server share. */
export interface ServerOfConnections {
  readonly service: Service;
  readonly settings: Settings;
  /** Connections of clients that the server lends, in a program that a server runs. */
  readonly lent?: LentConnections | undefined;
  /** Authenticated connections. */
  readonly heard: Set<DirectConnection>;
  /** The channel of each session. */
  readonly channels: WeakMap<Session, DirectConnection>;
}

export class DirectConnection {
  readonly #frames: FrameReader;
  readonly #timer: NodeJS.Timeout;
  readonly #spin = new AdaptiveSpin();
  #preamble = 0;
  /** Handler of the next message; its promise is settled when the message after it may be handled. */
  #take: (message: Uint8Array, slot: number) => Promise<void> | undefined = (message) => this.#greet(message);
  #last: Promise<void> | undefined;
  #phase: "opening" | "open" | "refused" = "opening";
  #release = () => {};
  #discarded = DISCARDED_OF_STRANGERS;

  constructor(
    readonly server: ServerOfConnections,
    readonly socket: Socket,
  ) {
    this.#frames = new FrameReader(MAX_HELLO_BYTES, false);
    this.#timer = setTimeout(() => this.close(), HELLO_MILLISECONDS);
    socket.on("data", (chunk) => this.#receive(chunk));
    socket.on("error", () => this.close());
    socket.on("close", () => this.close());
  }

  close(): void {
    clearTimeout(this.#timer);
    this.server.heard.delete(this);
    this.#release();
    this.socket.destroy();
  }

  #receive(chunk: Uint8Array): void {
    this.#spin.woke();
    try {
      this.#frames.push(this.#withoutPreamble(chunk), ({ message, slot }) => this.#inOrder(message, slot));
    } catch (thrown) {
      // The boundaries of later frames are unknown.
      if (this.#phase === "refused") return;
      if (thrown instanceof FrameError && this.#phase === "opening") this.#refuse(statusOf(notRead(thrown)));
      else this.close();
    }
  }

  #withoutPreamble(chunk: Uint8Array): Uint8Array {
    let at = 0;
    for (; this.#preamble < PREAMBLE.length && at < chunk.length; at++, this.#preamble++)
      if (chunk[at] !== PREAMBLE[this.#preamble]) throw new Fault("MALFORMED_REQUEST", "this is not envwire");
    return chunk.subarray(at);
  }

  /** Handles messages in order; while one waits, only messages that have already arrived are read. */
  #inOrder(message: Uint8Array, slot: number): void {
    if (slot === RECALL) return this.server.lent?.recall();
    const before = this.#last;
    if (before !== undefined) this.socket.pause();
    const taken =
      before === undefined ? this.#take(message, slot) : before.then(() => this.#take(message, slot));
    const settled = taken?.then(() => {
      if (this.#last !== settled) return;
      this.#last = undefined;
      this.socket.resume();
    });
    this.#last = settled;
  }

  // --- Opening ---

  #greet(message: Uint8Array): undefined {
    const { service, settings } = this.server;
    try {
      const { header, make } = helloOf(message);
      if (make === undefined) return this.#welcome(service.sessions.findLive(header));
      checkToken(make.token, settings.token);
      this.#discarded = DISCARDED_OF_CLIENTS;
      this.#timer.refresh();
      this.#frames.limit = settings.maxMessageBytes;
      this.#take = (request) => this.#make(request);
    } catch (thrown) {
      this.#refuse(statusOf(faultOf(thrown)));
    }
  }

  /** Makes a session; a client that disconnects meanwhile repeats the Make, or the session ends with its lease. */
  async #make(body: Uint8Array): Promise<void> {
    clearTimeout(this.#timer);
    this.server.heard.add(this);
    let session: Session | undefined;
    const answer = await this.server.service.serve({ kind: "make", body }, (made) => {
      session = made;
    });
    if (this.socket.destroyed) return this.close();
    if (answer.kind === "error" || session === undefined)
      return this.#refuse(fromBinary(ErrorStatusSchema, answer.body));
    const made = fromBinary(MakeResponseSchema, answer.body);
    if (this.server.lent !== undefined) made.capabilities.push("direct");
    this.#say({ case: "made", value: made });
    this.#welcome(session);
  }

  #welcome(session: Session): undefined {
    const { channels, heard, settings } = this.server;
    clearTimeout(this.#timer);
    heard.add(this);
    channels.get(session)?.close();
    channels.set(session, this);
    this.#phase = "open";
    this.#release = session.hold();
    this.#frames.limit = settings.maxMessageBytes;
    this.#frames.withSlots = this.server.lent !== undefined;
    this.#take = (message, slot) => this.#serve(session, message, slot);
    this.#say({ case: "welcome", value: { maxMessageBytes: BigInt(settings.maxMessageBytes) } });
  }

  /** Sends the error once, and discards all further data. */
  #refuse(error: ErrorStatus): undefined {
    clearTimeout(this.#timer);
    this.#phase = "refused";
    this.server.heard.delete(this);
    this.#take = () => undefined;
    let left = this.#discarded.bytes;
    const discard = (chunk: Uint8Array) => {
      left -= chunk.length;
      if (left < 0) this.socket.destroy();
    };
    this.socket.removeAllListeners("data").on("data", discard).resume();
    setTimeout(() => this.socket.destroy(), this.#discarded.milliseconds).unref();
    this.#say({ case: "error", value: error });
    this.socket.end();
  }

  #say(result: Greeting): void {
    this.socket.write(frameOf(toBinary(HelloResponseSchema, create(HelloResponseSchema, { result }))));
  }

  // --- Requests ---

  #serve(session: Session, message: Uint8Array, slot: number): Promise<void> | undefined {
    if (this.socket.destroyed) return undefined; // of those that wait behind an answer which its client did not read
    if (slot === LOAN && this.server.lent !== undefined)
      return this.server.lent
        .serve(session, message)
        .then((returned) => void this.socket.write(frameOf(returned)));
    const answer = this.#answer(session, message, slot === OWN_REQUEST);
    return answer instanceof Promise
      ? answer.then((one) => this.#send(session, one))
      : this.#send(session, answer);
  }

  #answer(session: Session, message: Uint8Array, own: boolean): Answer | Promise<Answer> {
    try {
      const request = unwrap(message);
      if (request !== undefined && request.kind !== "error" && !CONTROL.has(request.kind)) {
        const asked = { kind: request.kind, body: request.body };
        return own ? session.serveOwn(asked) : session.serve(asked);
      }
    } catch {
      // Its kind is unknown, so the answer has none.
    }
    return errorAnswer(new Fault("MALFORMED_REQUEST", "the frame holds no request of a session"));
  }

  /** Sends an answer; returns a promise if the client has to read before the next request is handled. */
  #send(session: Session, answer: Answer): Promise<void> | undefined {
    if (this.socket.destroyed) return undefined;
    if (answer.body.length > MAX_PIECE_BYTES) return this.#sendPieces(session, answer);
    this.socket.write(seal(wrap(answer.kind, NO_HEADER, answer.body, HEADER_BYTES)));
    if (this.#full()) return this.#sent(session);
    this.#spin.begin();
    this.#endWith(session);
    return undefined;
  }

  /** Sends an answer that is kept in memory in any case, without a copy. */
  async #sendPieces(session: Session, { kind, body }: Answer): Promise<void> {
    this.socket.write(seal(wrapStart(kind, body.length, HEADER_BYTES), body.length));
    for (let at = 0; at < body.length && !this.socket.destroyed; at += MAX_PIECE_BYTES) {
      this.socket.write(body.subarray(at, at + MAX_PIECE_BYTES));
      if (this.#full()) await this.#drained();
    }
    this.#endWith(session);
  }

  async #sent(session: Session): Promise<void> {
    await this.#drained();
    this.#endWith(session);
  }

  /** Returns when the system has accepted all bytes; a client that does not read loses the connection. */
  async #drained(): Promise<void> {
    try {
      await once(this.socket, "drain", { signal: AbortSignal.timeout(SEND_MILLISECONDS) });
    } catch {
      this.close();
    }
  }

  #endWith(session: Session): void {
    if (session.ended !== undefined) this.socket.destroySoon();
  }

  /** Whether the system currently accepts no more bytes. */
  #full(): boolean {
    return this.socket.writableNeedDrain && this.socket.writableLength > 0;
  }
}

function helloOf(message: Uint8Array): HelloRequest {
  const hello = parseRequest(HelloRequestSchema, message);
  if ((hello.header === undefined) === (hello.make === undefined))
    throw new Fault("MALFORMED_REQUEST", "a hello has either the header of a session or make");
  return hello;
}

function notRead(thrown: unknown): Fault {
  return new Fault("MALFORMED_REQUEST", `the hello cannot be read: ${String(thrown)}`);
}
