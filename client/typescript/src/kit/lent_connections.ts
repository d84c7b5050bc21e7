/**
 * Connections of clients that the server lends this program, which it runs for one session: a step then passes through
 * no other process. docs/server.md, "A program for one session".
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
/** Time for which a client may read nothing while an answer is being sent. */
const SEND_MILLISECONDS = 30_000;
const NOTHING = new Uint8Array(0);

/** Only the end of a channel between processes receives sockets in Node.js; this is what opens one after the start. */
const { _forkChild: openChannel } = childProcess as unknown as {
  _forkChild?: (fd: number, serialization: "json") => void;
};

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
   * Serves a connection up to the first request that needs the server, or its end.
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
    const left = await new Promise<Uint8Array | undefined>((resolve) => {
      this.#current = new LentConnection(session, socket, limit, this.#counts, resolve);
      if (this.#recalled) this.#current.recall(); // before it came
    });
    this.#current = undefined;
    return Buffer.concat([Uint8Array.of(left === undefined ? 0 : 1, 0, 0), left ?? NOTHING]); // without a mailbox
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

  /** @param giveBack Called once, with the bytes that were not served; undefined if the client is gone. */
  constructor(
    readonly session: Session,
    readonly socket: Socket,
    readonly limit: number,
    readonly counts: Counts,
    readonly giveBack: (left: Uint8Array | undefined) => void,
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

  /** Sends an answer; returns a promise if the client has to read before the next request is served. */
  #send({ kind, body }: Answer): Promise<void> | undefined {
    if (this.#over) return undefined;
    if (body.length + HEADER_BYTES > this.limit) {
      const text = `the answer has ${body.length} bytes, and ${this.limit} are allowed (--max-message-bytes of the server)`;
      return this.#send(errorAnswer(new Fault("MESSAGE_TOO_LARGE", text)));
    }
    if (!this.socket.write(seal(wrap(kind, NOTHING, body, HEADER_BYTES)))) return this.#drained();
    this.#spin.begin();
    return undefined;
  }

  /** Resolves when the system has taken all bytes; a client that does not read loses the connection. */
  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#lose(), SEND_MILLISECONDS).unref();
      this.socket.once("drain", () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Leaves the connection to the server, with all that has come and was not served. */
  #leave(): void {
    this.#over = true;
    this.socket.removeAllListeners("data").pause();
    this.socket.write(NOTHING, () => {
      const left = [...this.#waiting.map(frameOf), this.#frames.rest];
      for (let more = this.socket.read(); more !== null; more = this.socket.read()) left.push(more);
      this.socket.removeAllListeners("close").destroy(); // this process's descriptor of it
      this.giveBack(Buffer.concat(left));
    });
  }

  #lose(): void {
    if (this.#over) return;
    this.#over = true;
    this.socket.destroy();
    this.giveBack(undefined);
  }
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
