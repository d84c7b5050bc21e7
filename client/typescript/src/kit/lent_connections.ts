/**
 * Connections of clients that the server lends this program, which it runs for one session: a step then passes through
 * no other process. docs/protocol.md, "A program for one session".
 */

import * as childProcess from "node:child_process";
import { writeSync } from "node:fs";
import type { Socket } from "node:net";
import { AdaptiveSpin } from "../transports/adaptive_spin.js";
import { type Answer, type Request, unwrap, wrap } from "../wire/envelope.js";
import { FrameReader, frameOf, HEADER_BYTES, seal } from "../wire/frames.js";
import { errorAnswer, Fault } from "./faults.js";
import type { Session } from "./session.js";

/** What a frame of the server holds, in the place of a slot; 0 is a request of the client. */
export const OWN_REQUEST = 1;
export const LOAN = 2;
export const RECALL = 3;
/** The requests that need nothing of the server. */
const SERVED_HERE = new Set(["reset", "step", "render", "saveState", "restoreState"]);
/** A client that takes longer to read an answer is the server's to wait for, which may want the connection meanwhile. */
const PATIENCE_MILLISECONDS = 250;
const NOTHING = new Uint8Array(0);

/** Only the end of a channel between processes receives sockets in Node.js; this is what opens one after the start. */
const { _forkChild: openChannel } = childProcess as unknown as {
  _forkChild?: (fd: number, serialization: "json") => void;
};

/** What is left of a connection whose client is still there. */
interface Left {
  /** The part of the last answer that the client did not take. */
  readonly unsent: Uint8Array;
  /** What came and was not served. */
  readonly unserved: Uint8Array;
}

export class LentConnections {
  readonly #counts: Counts;
  readonly #come: Socket[] = [];
  #wanted: ((socket: Socket) => void) | undefined;
  #current: LentConnection | undefined;
  #recalled = false;

  /** Returns the connections that the server lends, if it lends any. */
  static fromEnvironment(): LentConnections | undefined {
    const { ENVWIRE_CONNECTIONS: connections, ENVWIRE_COUNTS: counts } = process.env;
    // Programs that the environment starts have no part in them.
    delete process.env["ENVWIRE_CONNECTIONS"];
    delete process.env["ENVWIRE_COUNTS"];
    if (connections === undefined || counts === undefined || openChannel === undefined) return undefined;
    return new LentConnections(Number(connections), Number(counts));
  }

  private constructor(connections: number, counts: number) {
    this.#counts = new Counts(counts);
    openChannel?.(connections, "json");
    process.on("message", (_, socket) => {
      this.#come.push(socket as Socket);
      this.#pass();
    });
    process.channel?.unref(); // the program runs for as long as it has the channel to the server
  }

  #pass(): void {
    const socket = this.#wanted && this.#come.shift();
    if (socket === undefined) return;
    this.#wanted?.(socket);
    this.#wanted = undefined;
  }

  /**
   * Serves a connection up to the first request that needs the server, an answer that the client does not read soon, or
   * its end.
   *
   * @param loan The message that came with it.
   * @returns The message with which it is given back.
   */
  async serve(session: Session, loan: Uint8Array): Promise<Uint8Array> {
    this.#recalled = false;
    const limit = Number(new DataView(loan.buffer, loan.byteOffset).getBigUint64(0, true));
    const socket = await new Promise<Socket>((resolve) => {
      this.#wanted = resolve;
      this.#pass();
    });
    const left = await new Promise<Left | undefined>((resolve) => {
      this.#current = new LentConnection(session, socket, limit, this.#counts, resolve);
      if (this.#recalled) this.#current.recall(); // before it came
    });
    this.#current = undefined;
    const { unsent, unserved } = left ?? { unsent: NOTHING, unserved: NOTHING };
    const head = Buffer.alloc(8); // the numbers of a mailbox, which there is none of, stay 0
    head.writeUInt8(left === undefined ? 0 : 1, 0);
    head.writeUInt32LE(unsent.length, 4);
    return Buffer.concat([head, unsent, unserved]);
  }

  /** Gives the present connection back, after the request that is being served. */
  recall(): void {
    this.#recalled = true;
    this.#current?.recall();
  }
}

/** Nanoseconds between two writes of the counts: one for each request took a tenth of a step. */
const PAUSE = 50_000_000n;

/** What the server is told: it reads this memory now and then. */
class Counts {
  readonly #words = new BigUint64Array(4);
  readonly #bytes = new Uint8Array(this.#words.buffer);
  #begun = 0n;
  #written = 0n;

  constructor(readonly fd: number) {
    setInterval(() => this.#rest(), Number(PAUSE) / 1e6).unref();
  }

  /** A request is being served. The server may believe that it began a pause earlier, with the last that was written. */
  begin(): void {
    this.#begun = process.hrtime.bigint();
    if (this.#words[0] !== 0n && this.#begun - this.#written < PAUSE) return;
    this.#words[0] = this.#begun;
    this.#write();
  }

  /** It was served, with this many steps. */
  end(steps: number): void {
    const [begun = 0n, requests = 0n, taken = 0n, serving = 0n] = this.#words;
    const took = process.hrtime.bigint() - this.#begun;
    this.#words.set([begun, requests + 1n, taken + BigInt(steps), serving + took]);
    this.#begun = 0n;
  }

  #rest(): void {
    if (this.#begun !== 0n || this.#words[0] === 0n) return;
    this.#words[0] = 0n;
    this.#write();
  }

  #write(): void {
    this.#written = this.#begun;
    writeSync(this.fd, this.#bytes, 0, this.#bytes.length, 0);
  }
}

class LentConnection {
  readonly #frames: FrameReader;
  readonly #spin = new AdaptiveSpin();
  /** Messages that have come, and are not served yet. */
  readonly #waiting: Uint8Array[] = [];
  #busy = false;
  #recalled = false;
  #over = false;

  /** @param giveBack Called once, with what is left; undefined if the client is gone. */
  constructor(
    readonly session: Session,
    readonly socket: Socket,
    readonly limit: number,
    readonly counts: Counts,
    readonly giveBack: (left: Left | undefined) => void,
  ) {
    this.#frames = new FrameReader(limit, false);
    socket.on("data", (chunk) => this.#receive(chunk));
    socket.on("error", () => this.#lose());
    socket.on("close", () => this.#lose());
  }

  #receive(chunk: Uint8Array): void {
    this.#spin.woke();
    try {
      this.#frames.push(chunk, ({ message }) => this.#waiting.push(message));
    } catch {
      return this.#lose(); // the boundaries of later frames are unknown
    }
    this.#serveWaiting();
    if (this.#busy && this.#waiting.length > 0) this.socket.pause();
  }

  recall(): void {
    this.#recalled = true;
    this.#serveWaiting();
  }

  #serveWaiting(): void {
    while (!this.#busy && !this.#over) {
      if (this.#recalled) return this.#leave();
      const [message] = this.#waiting;
      if (message === undefined) return void this.socket.resume();
      const request = servedHere(message);
      if (request === undefined) return this.#leave();
      this.#waiting.shift();
      this.#serve(request);
    }
  }

  #serve(request: Request): void {
    const { session, counts } = this;
    const before = session.steps;
    counts.begin();
    const answer = session.serve(request);
    const answered = (one: Answer) => {
      const sent = this.#send(one);
      counts.end(session.steps - before);
      return sent;
    };
    const sent = answer instanceof Promise ? answer.then(answered) : answered(answer);
    if (sent !== undefined) this.#wait(sent);
  }

  #wait(done: Promise<unknown>): void {
    this.#busy = true;
    done.then(() => {
      this.#busy = false;
      this.#serveWaiting();
    });
  }

  /** Sends an answer; returns a promise if the system has not taken all of it. */
  #send({ kind, body }: Answer): Promise<void> | undefined {
    if (this.#over) return undefined;
    if (body.length + HEADER_BYTES > this.limit) {
      const text = `the answer has ${body.length} bytes, and ${this.limit} are allowed (--max-message-bytes of the server)`;
      return this.#send(errorAnswer(new Fault("MESSAGE_TOO_LARGE", text)));
    }
    const frame = seal(wrap(kind, NOTHING, body, HEADER_BYTES));
    this.socket.write(frame);
    if (this.socket.writableLength > 0) return this.#taken(frame);
    this.#spin.begin();
    return undefined;
  }

  /** Resolves when the system has taken an answer; leaves the connection to the server if the client does not read. */
  #taken(frame: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      const leave = () => this.#leave(frame.subarray(frame.length - queuedBytes(this.socket)));
      const timer = setTimeout(leave, PATIENCE_MILLISECONDS);
      this.socket.write(NOTHING, () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Leaves the connection to the server, with all that has come and was not served. */
  #leave(unsent: Uint8Array = NOTHING): void {
    if (this.#over) return;
    this.#over = true;
    this.socket.removeAllListeners("data").pause();
    const unserved = [...this.#waiting.map(frameOf), this.#frames.rest];
    for (let more = this.socket.read(); more !== null; more = this.socket.read()) unserved.push(more);
    this.socket.removeAllListeners("close").destroy(); // this process's descriptor of it
    this.giveBack({ unsent, unserved: Buffer.concat(unserved) });
  }

  #lose(): void {
    if (this.#over) return;
    this.#over = true;
    this.socket.destroy();
    this.giveBack(undefined);
  }
}

/** Returns how many bytes of the only answer on its way the system has not taken; Node.js tells it only here. */
function queuedBytes(socket: Socket): number {
  return (socket as unknown as { _handle: { writeQueueSize: number } | null })._handle?.writeQueueSize ?? 0;
}

/** Returns the request in a frame, if it needs nothing of the server. */
function servedHere(message: Uint8Array): Request | undefined {
  try {
    const request = unwrap(message);
    if (request === undefined || request.kind === "error" || !SERVED_HERE.has(request.kind)) return undefined;
    return { kind: request.kind, body: request.body };
  } catch {
    return undefined; // the server says what is wrong with it
  }
}
