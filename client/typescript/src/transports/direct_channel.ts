/** An open direct channel: frames on a socket. */

import { connect as connectTcp, type NetConnectOpts, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { ConnectionError } from "../errors.js";
import { Decoder, ENCODED } from "../wire/encodings.js";
import { type Frame, FrameError, FrameReader } from "../wire/frames.js";
import { AdaptiveSpin } from "./adaptive_spin.js";
import { splitAddress } from "./addresses.js";
import type { TlsOptions } from "./grpc_client.js";
import type { Wait } from "./transport.js";
import { Waiting } from "./waiting.js";

/** Larger than a welcome, and no limit of the server's is known before it. */
const FIRST_LIMIT = 64 * 1024;
const READ_BYTES = 256 * 1024;
/** What the address of an abstract Unix socket begins with. */
export const UNIX = "unix-abstract:";

/** One socket. A failure destroys it; then open another channel. */
export class DirectChannel {
  readonly #socket: Socket;
  readonly #reader = new FrameReader(FIRST_LIMIT, true);
  #decoder: Decoder | undefined;
  readonly #spin = new AdaptiveSpin();
  #waiting: Waiting<Frame> | undefined;
  #failure: ConnectionError | undefined;
  #connected = false;

  constructor(
    readonly address: string,
    tls: TlsOptions | undefined,
  ) {
    const onread = {
      buffer: new Uint8Array(READ_BYTES),
      callback: (count: number, buffer: Uint8Array) => this.#receive(buffer.subarray(0, count)),
    };
    this.#socket = open(address, tls, onread);
    this.#socket.setNoDelay(true);
    this.#socket.setKeepAlive(true, 15_000);
    this.#socket.on("connect", () => {
      this.#connected = true;
    });
    this.#socket.on("error", (error: NodeJS.ErrnoException) => this.#broken(error));
    this.#socket.on("end", () => this.#broken());
    this.#socket.on("close", () => this.#broken());
  }

  get open(): boolean {
    return this.#failure === undefined;
  }

  /** Frames of the server may be this long from now on. */
  set limit(bytes: number) {
    this.#reader.limit = bytes;
    if (this.#decoder !== undefined) this.#decoder.limit = bytes;
  }

  /** Attachments may be encoded from now on. */
  decode(): void {
    this.#decoder = new Decoder(this.#reader.limit);
    this.#reader.withSlots = true;
  }

  /** Sends frames and waits for one. */
  exchange(frames: Uint8Array, wait: Wait): Promise<Frame> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const waiting = new Waiting<Frame>(wait, (error) => this.#fail(error));
    this.#waiting = waiting;
    this.#socket.write(frames);
    this.#spin.begin();
    return waiting.promise;
  }

  /** Ends all waits. */
  close(): void {
    this.#fail(new ConnectionError("the direct channel was closed", false, true));
  }

  #receive(chunk: Uint8Array): boolean {
    try {
      this.#reader.push(chunk, (frame) => this.#answered(frame));
      if (this.#waiting === undefined && !this.#reader.empty) throw unasked();
    } catch (error) {
      this.#fail(
        new ConnectionError(`the direct channel broke: ${(error as Error).message}`, false, true, error),
      );
    }
    return true;
  }

  #answered(frame: Frame): void {
    const waiting = this.#take();
    if (waiting === undefined) throw unasked();
    try {
      waiting.resolve(frame.slot === 0 ? frame : this.#decoded(frame));
    } catch (error) {
      this.#waiting = waiting; // it learns why the channel ends
      throw error;
    }
  }

  #decoded(frame: Frame): Frame {
    const { message, slot, attachments = new Uint8Array(0) } = frame;
    if (this.#decoder === undefined || slot < ENCODED)
      throw new FrameError("a frame lies in shared memory, and none was agreed on");
    return { message, slot: 0, attachments: this.#decoder.decode(slot, attachments) };
  }

  #broken(error?: NodeJS.ErrnoException): void {
    const refused = error?.code === "ECONNREFUSED";
    const why = error?.message ?? "the server closed it";
    this.#fail(
      new ConnectionError(
        `the direct channel to ${this.address} broke: ${why}`,
        refused,
        this.#connected,
        error,
      ),
    );
  }

  #fail(error: Error): void {
    this.#failure ??=
      error instanceof ConnectionError ? error : new ConnectionError(error.message, false, true, error);
    this.#take()?.reject(error);
    this.#socket.destroy();
  }

  #take(): Waiting<Frame> | undefined {
    this.#spin.woke();
    const waiting = this.#waiting;
    this.#waiting = undefined;
    return waiting;
  }
}

/** An unrequested answer would be taken for the next one. */
function unasked(): FrameError {
  return new FrameError("the server sent more than it was asked for");
}

type OnRead = NonNullable<NetConnectOpts["onread"]>;

function open(address: string, tls: TlsOptions | undefined, onread: OnRead): Socket {
  if (address.startsWith(UNIX)) return connectTcp({ path: `\0${address.slice(UNIX.length)}`, onread });
  const { host, port } = splitAddress(address);
  if (tls === undefined) return connectTcp({ host, port, onread });
  const servername = tls.serverName ?? host;
  return connectTls({ host, port, ca: tls.ca, cert: tls.cert, key: tls.key, servername, onread } as never);
}
