/** The direct channel of a server: frames on TCP, and on an abstract Unix socket where there are such. */

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type HelloRequest, HelloRequestSchema, HelloResponseSchema } from "../gen/envwire/v1/direct_pb.js";
import { AdaptiveSpin } from "../transports/adaptive_spin.js";
import { type Answer, unwrap, wrap } from "../wire/envelope.js";
import { FrameError, FrameReader, frameOf, HEADER_BYTES, PREAMBLE, seal } from "../wire/frames.js";
import { errorAnswer, Fault, faultOf, statusOf } from "./faults.js";
import type { Settings } from "./options.js";
import type { Service } from "./service.js";
import type { Session } from "./session.js";

const HELLO_MILLISECONDS = 5_000;
/** For how long what comes behind a hello that was refused is thrown away, so that its client gets the error. */
const LINGER_MILLISECONDS = 1_000;
/** For how long a client may read nothing while an answer is being sent. */
const SEND_MILLISECONDS = 30_000;
/** What is written at once: large enough to cost nothing, small enough to see that its client reads. */
const MAX_PIECE_BYTES = 2 ** 20;
const MAX_HELLO_BYTES = 1_024;
const MAX_SILENT = 256;
/** Node 20 fills abstract names up with zeros, to this length: a name that is as long is nobody else's. */
const FULL_NAME = 107;
const NO_HEADER = new Uint8Array(0);
/** Requests that do not go here. */
const CONTROL = new Set(["make", "listEnvironments", "getServerInfo", "renewLease", "getSessionStats"]);

export class DirectServer {
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  /** Connections that have not said their hello. */
  readonly silent = new Set<DirectConnection>();
  /** The channel of each session. */
  readonly channels = new WeakMap<Session, DirectConnection>();

  constructor(
    readonly service: Service,
    readonly settings: Settings,
  ) {}

  /** Listens, and returns the addresses to offer. */
  async listen(): Promise<string[]> {
    const { host, directPort, tls } = this.settings;
    const accept = (socket: Socket) => this.#accept(socket);
    const { ca, cert, key } = tls ?? {};
    const tcp =
      tls === undefined
        ? createServer({ noDelay: true }, accept)
        : createTlsServer({ ca, cert, key, requestCert: ca !== undefined, noDelay: true } as never, accept);
    await this.#listen(tcp, { host, port: directPort });
    const addresses = [`:${(tcp.address() as AddressInfo).port}`];
    if (process.platform !== "linux") return addresses;
    const name = `envwire-${randomBytes(50).toString("hex")}`.slice(0, FULL_NAME);
    await this.#listen(createServer(accept), { path: `\0${name}` });
    return [`unix-abstract:${name}`, ...addresses];
  }

  async #listen(server: Server, where: { host: string; port: number } | { path: string }): Promise<void> {
    this.#servers.push(server);
    server.listen(where);
    await once(server, "listening");
  }

  #accept(socket: Socket): void {
    if (this.silent.size >= MAX_SILENT) return void socket.destroy();
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
    new DirectConnection(this, socket);
  }

  close(): void {
    for (const server of this.#servers) server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

function helloOf(message: Uint8Array): HelloRequest {
  try {
    return fromBinary(HelloRequestSchema, message);
  } catch (thrown) {
    throw notRead(thrown);
  }
}

function notRead(thrown: unknown): Fault {
  return new Fault("MALFORMED_REQUEST", `the hello cannot be read: ${String(thrown)}`);
}

/** One connection: a preamble, a hello, and then requests, each of which is answered before the next is looked at. */
class DirectConnection {
  readonly #frames: FrameReader;
  readonly #timer: NodeJS.Timeout;
  readonly #spin = new AdaptiveSpin();
  #preamble = 0;
  #session: Session | undefined;
  #release = () => {};
  #last: Promise<void> | undefined;

  constructor(
    readonly server: DirectServer,
    readonly socket: Socket,
  ) {
    this.#frames = new FrameReader(MAX_HELLO_BYTES, false);
    this.#timer = setTimeout(() => this.close(), HELLO_MILLISECONDS);
    server.silent.add(this);
    socket.on("data", (chunk) => this.#receive(chunk));
    socket.on("error", () => this.close());
    socket.on("close", () => this.close());
  }

  close(): void {
    this.#noLongerSilent();
    this.#release();
    this.socket.destroy();
  }

  #receive(chunk: Uint8Array): void {
    this.#spin.woke();
    try {
      this.#frames.push(this.#withoutPreamble(chunk), ({ message }) => this.#take(message));
    } catch (thrown) {
      // What comes next cannot be told from what came before.
      if (thrown instanceof FrameError && this.#session === undefined) this.#refuse(notRead(thrown));
      else this.close();
    }
  }

  #withoutPreamble(chunk: Uint8Array): Uint8Array {
    let at = 0;
    for (; this.#preamble < PREAMBLE.length && at < chunk.length; at++, this.#preamble++)
      if (chunk[at] !== PREAMBLE[this.#preamble]) throw new Fault("MALFORMED_REQUEST", "this is not envwire");
    return chunk.subarray(at);
  }

  #take(message: Uint8Array): void {
    if (this.#session === undefined) return this.#greet(message);
    const session = this.#session;
    if (this.#last !== undefined) this.#last = this.#last.then(() => this.#serve(session, message));
    else this.#last = this.#serve(session, message);
  }

  #greet(message: Uint8Array): void {
    try {
      const { header, make } = helloOf(message);
      if (make !== undefined) throw new Fault("UNSUPPORTED", "this server makes sessions over gRPC");
      this.#welcome(this.server.service.sessions.findLive(header));
    } catch (thrown) {
      this.#refuse(faultOf(thrown));
    }
  }

  #refuse(fault: Fault): void {
    this.#noLongerSilent();
    const result = { case: "error", value: statusOf(fault) } as const;
    this.socket.removeAllListeners("data").resume(); // what else it sends is for nobody
    setTimeout(() => this.socket.destroy(), LINGER_MILLISECONDS).unref();
    this.socket.end(frameOf(toBinary(HelloResponseSchema, create(HelloResponseSchema, { result }))));
  }

  #noLongerSilent(): void {
    clearTimeout(this.#timer);
    this.server.silent.delete(this);
  }

  #welcome(session: Session): void {
    this.#noLongerSilent();
    const { maxMessageBytes } = this.server.settings;
    this.server.channels.get(session)?.close();
    this.server.channels.set(session, this);
    this.#session = session;
    this.#release = session.hold();
    this.#frames.limit = maxMessageBytes;
    const result = { case: "welcome", value: { maxMessageBytes: BigInt(maxMessageBytes) } } as const;
    this.socket.write(frameOf(toBinary(HelloResponseSchema, create(HelloResponseSchema, { result }))));
  }

  #serve(session: Session, message: Uint8Array): Promise<void> | undefined {
    if (this.socket.destroyed) return undefined; // of those that wait behind an answer which its client did not read
    const answer = this.#answer(session, message);
    const sent =
      answer instanceof Promise
        ? answer.then((one) => this.#send(session, one))
        : this.#send(session, answer);
    const settled = sent?.then(() => {
      if (this.#last === settled) this.#last = undefined;
    });
    return settled;
  }

  #answer(session: Session, message: Uint8Array): Answer | Promise<Answer> {
    try {
      const request = unwrap(message);
      if (request !== undefined && request.kind !== "error" && !CONTROL.has(request.kind))
        return session.serve({ kind: request.kind, body: request.body });
    } catch {
      // Nothing can be read of it: it is answered as a request of no kind.
    }
    return errorAnswer(new Fault("MALFORMED_REQUEST", "the frame holds no request of a session"));
  }

  /** Sends an answer; returns a promise where its client has to read before the next request is looked at. */
  #send(session: Session, { kind, body }: Answer): Promise<void> | undefined {
    if (this.socket.destroyed) return undefined;
    const frame = seal(wrap(kind, NO_HEADER, body, HEADER_BYTES));
    this.socket.write(frame.subarray(0, MAX_PIECE_BYTES));
    if (frame.length > MAX_PIECE_BYTES || this.#full()) return this.#sendRest(session, frame);
    this.#spin.begin();
    if (session.ended !== undefined) this.socket.destroySoon();
    return undefined;
  }

  async #sendRest(session: Session, frame: Uint8Array): Promise<void> {
    this.socket.pause();
    try {
      for (let at = MAX_PIECE_BYTES; at < frame.length || this.#full(); at += MAX_PIECE_BYTES) {
        if (this.#full())
          await once(this.socket, "drain", { signal: AbortSignal.timeout(SEND_MILLISECONDS) });
        if (at < frame.length) this.socket.write(frame.subarray(at, at + MAX_PIECE_BYTES));
      }
    } catch {
      return this.close();
    }
    this.socket.resume();
    if (session.ended !== undefined) this.socket.destroySoon();
  }

  /** Whether the system takes no more for now. */
  #full(): boolean {
    return this.socket.writableNeedDrain && this.socket.writableLength > 0;
  }
}
