/** The direct channel: straight to the process that holds the environment, many times faster than gRPC. */

import { create, toBinary } from "@bufbuild/protobuf";
import { ConnectionError, parseAnswer } from "../errors.js";
import { HelloRequestSchema, type HelloResponse, HelloResponseSchema } from "../gen/envwire/v1/direct_pb.js";
import type { MakeResponse } from "../gen/envwire/v1/environment_pb.js";
import { ErrorStatusSchema } from "../gen/envwire/v1/status_pb.js";
import { ENCODINGS } from "../wire/encodings.js";
import { type Answer, answerTo, type Request, wrap } from "../wire/envelope.js";
import { frameOf, HEADER_BYTES, PREAMBLE, seal } from "../wire/frames.js";
import { splitAddress, staysHere } from "./addresses.js";
import { DirectChannel, UNIX } from "./direct_channel.js";
import type { Credentials, TlsOptions } from "./grpc_client.js";
import type { Transport, Wait } from "./transport.js";
import { joined } from "./unary.js";

/**
 * "auto" lets the server compress large arrays on the way to another machine, where they then arrive sooner; "zstd"
 * wherever they become smaller; "off" never.
 */
export type Compression = "auto" | "zstd" | "off";

/** Short, because a firewall may drop packets, and a reachable server answers in milliseconds. */
const DIAL_MILLISECONDS = 3_000;
/** Bounds all attempts together: a server may offer any number of addresses where nobody answers. */
const DIAL_ALL_MILLISECONDS = 6_000;
const MOST_ADDRESSES = 8;
const NO_HEADER = new Uint8Array(0);

/** Carries requests on a direct channel, and what is too large for it over gRPC, where the session is the same. */
export class DirectTransport implements Transport {
  readonly name = "direct";
  #channel: DirectChannel | undefined;
  #addresses: readonly string[];
  #limit = 0;
  readonly #made: MakeResponse;
  readonly #compression: Compression;
  readonly #tls: TlsOptions | undefined;

  /**
   * @param target The connected target, whose host completes addresses without one.
   * @param larger Carries requests that are larger than the channel takes.
   * @param unix Whether Unix sockets are tried, where the server is on this machine.
   * @param compression Whether the server may compress arrays.
   */
  constructor(
    target: string,
    made: MakeResponse,
    credentials: Credentials,
    readonly larger: Transport,
    unix = true,
    compression: Compression = "auto",
  ) {
    this.#made = made;
    this.#compression = compression;
    const here = unix && staysHere(target);
    this.#addresses = usable(made.direct?.addresses ?? [], splitAddress(made.address || target).host, here);
    const { tls } = credentials;
    this.#tls = tls ? (typeof tls === "object" ? tls : {}) : undefined;
  }

  /** The addresses to try; once a channel was open, the only one. */
  get addresses(): readonly string[] {
    return this.#addresses;
  }

  get holdsLease(): boolean {
    return this.#channel?.open === true;
  }

  /**
   * Opens the channel at the first address that answers; returns whether one did. A refusal sends the first attempt on
   * to the next address: a forwarded port may lead to another server.
   */
  async open(): Promise<boolean> {
    const end = performance.now() + DIAL_ALL_MILLISECONDS;
    for (const address of this.#addresses) {
      const left = end - performance.now();
      if (left <= 0) break;
      const refusal = await this.#dial(address, Math.min(DIAL_MILLISECONDS, left)).catch(
        (error: Error) => error,
      );
      if (refusal === undefined) {
        this.#addresses = [address];
        return true;
      }
    }
    return false;
  }

  async exchange(request: Request, header: Uint8Array, wait: Wait): Promise<Answer> {
    if (!this.holdsLease) {
      const [address, timeout] = [this.#addresses[0] as string, Math.min(DIAL_MILLISECONDS, wait.timeout)];
      const refusal = await this.#dial(address, timeout, wait.signal).catch(ifRefused);
      // The session's server is gone. The one that listens at the target now, if any, knows that the session is lost.
      if (refusal instanceof ConnectionError) return this.larger.exchange(request, header, wait);
      if (refusal !== undefined) return refusal;
    }
    const channel = this.#channel as DirectChannel;
    const frame = wrap(request.kind, NO_HEADER, request.body, HEADER_BYTES);
    if (frame.length - HEADER_BYTES > this.#limit) return this.larger.exchange(request, header, wait);
    const { message, attachments } = await channel.exchange(seal(frame), wait);
    try {
      return answerTo(request.kind, message, attachments);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Opens a channel; returns the server's error when it refuses. */
  async #dial(address: string, timeout: number, signal?: AbortSignal): Promise<Answer | undefined> {
    this.close();
    const channel = new DirectChannel(address, address.startsWith(UNIX) ? undefined : this.#tls);
    const { message } = await channel.exchange(this.#hello(address), { timeout, signal }).catch((error) => {
      channel.close();
      throw busy(error, address);
    });
    const result = resultOf(message);
    if (result.case !== "welcome") {
      channel.close();
      if (result.case !== "error")
        throw new ConnectionError(`${address} does not speak envwire`, false, true);
      return { kind: "error", body: toBinary(ErrorStatusSchema, result.value) };
    }
    this.#limit = Number(result.value.maxMessageBytes);
    channel.limit = this.#limit;
    if (result.value.encodings.length > 0) channel.decode();
    this.#channel = channel;
    return undefined;
  }

  /** Returns the bytes with which a channel begins. */
  #hello(address: string): Uint8Array {
    const { sessionId, secret } = this.#made;
    const encodeAlways = this.#compression === "zstd";
    const leaves = this.#compression === "auto" && !staysHere(address);
    const encodings = encodeAlways || leaves ? [...ENCODINGS] : [];
    const hello = create(HelloRequestSchema, { header: { sessionId, secret }, encodings, encodeAlways });
    return joined(PREAMBLE, frameOf(toBinary(HelloRequestSchema, hello)));
  }

  close(): void {
    this.#channel?.close();
    this.#channel = undefined;
  }
}

/** Returns what a HelloResponse says; nothing where it is none. */
function resultOf(message: Uint8Array): HelloResponse["result"] {
  try {
    return parseAnswer(HelloResponseSchema, message).result;
  } catch {
    return { case: undefined };
  }
}

/** Returns the error of an address where nobody listens; throws any other. */
function ifRefused(error: unknown): ConnectionError {
  if (error instanceof ConnectionError && error.refused) return error;
  throw error;
}

/** A session that serves a request does not answer a hello before it is done: it is tried again. */
function busy(error: { reason?: string }, address: string): unknown {
  if (error.reason !== "DEADLINE_EXCEEDED") return error;
  return new ConnectionError(`no welcome from ${address} in time`, false, true, error);
}

/** Returns the addresses to try from here, each with its host. */
function usable(addresses: readonly string[], host: string, here: boolean): string[] {
  const local = here && process.platform === "linux";
  return addresses
    .filter((address) => (address.startsWith(UNIX) ? local : /:\d+$/.test(address)))
    .slice(0, MOST_ADDRESSES)
    .map((address) =>
      address.startsWith(":") ? `${host.includes(":") ? `[${host}]` : host}${address}` : address,
    );
}
