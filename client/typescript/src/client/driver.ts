/** Drives a session over a transport: sends its requests, waits, and passes the results to it. */

import { setTimeout as sleep } from "node:timers/promises";
import { ConnectionError, EnvwireError } from "../errors.js";
import type { MakeRequest, MakeResponse } from "../gen/envwire/v1/environment_pb.js";
import type { ClientSession } from "../session/client_session.js";
import type { Event } from "../session/events.js";
import type { Operation } from "../session/operations.js";
import type { Transport } from "../transports/transport.js";
import { cancelled } from "../transports/waiting.js";
import type { Request } from "../wire/envelope.js";

/** Options of every call. */
export interface CallOptions {
  /** Aborts the wait. The request may have been served; the next request resolves this. */
  readonly signal?: AbortSignal | undefined;
  /** Seconds to wait for the answer, instead of the environment's `timeout`. */
  readonly timeout?: number | undefined;
}

export class Driver {
  #last: Promise<unknown> = Promise.resolve();
  #unfinished = 0;

  constructor(
    readonly session: ClientSession,
    public transport: Transport,
  ) {}

  async make(request: MakeRequest, { signal }: CallOptions = {}): Promise<MakeResponse> {
    return (await this.#served(this.session.makeRequest(request), signal)) as MakeResponse;
  }

  /** Sends a request and returns its result. Concurrent calls are served in order. */
  serve<Result>(operation: Operation<Result>, options: CallOptions = {}): Promise<Result> {
    const turn = () => this.#serve(operation, options);
    const result = this.#unfinished++ === 0 ? turn() : this.#last.then(turn, turn);
    this.#last = result;
    return result;
  }

  async #serve<Result>(operation: Operation<Result>, { signal, timeout }: CallOptions): Promise<Result> {
    try {
      this.#checkOpen();
      if (this.session.inDoubt) await this.#settleDoubt(operation, signal);
      return (await this.#served(this.session.nextRequest(operation, timeout), signal)) as Result;
    } finally {
      this.#unfinished--;
    }
  }

  /** Repeats the abandoned request. Its result is discarded, except that it may end the session. */
  async #settleDoubt({ kind }: Operation<unknown>, signal: AbortSignal | undefined): Promise<void> {
    if (kind === "close") return this.session.takeBack();
    try {
      await this.#served(this.session.repeat(), signal);
    } catch (error) {
      if (this.session.ended || this.session.inDoubt) throw error;
    }
  }

  #checkOpen(): void {
    if (this.session.ended)
      throw new EnvwireError("SESSION_CLOSED", "this environment is closed; make another");
  }

  /** Sends a request, and repeats it until its answer arrives or the wait is abandoned. */
  async #served(request: Request, signal: AbortSignal | undefined): Promise<unknown> {
    let pending = request;
    for (;;) {
      let event: Event;
      try {
        const wait = { timeout: this.session.timeLeft * 1000, signal };
        event = this.session.receive(await this.transport.exchange(pending, this.session.header, wait));
      } catch (error) {
        pending = await this.#afterFailure(error, signal);
        continue;
      }
      if (event.type === "answered") return event.result;
      if (event.type === "refused") throw event.error;
      if (event.type === "sendAgain") pending = event.request;
    }
  }

  /** Waits for the pause that the session sets and returns the request to repeat, or throws the final error. */
  async #afterFailure(error: unknown, signal: AbortSignal | undefined): Promise<Request> {
    if (!(error instanceof ConnectionError)) throw this.#givenUp(error);
    const event = this.session.connectionLost(error);
    if (event.type !== "retryAfter") throw error;
    await sleep(event.seconds * 1000, undefined, { signal }).catch(() => {
      throw this.#givenUp(cancelled(signal as AbortSignal));
    });
    return this.session.repeat();
  }

  #givenUp(error: unknown): unknown {
    if (this.session.pending) this.session.giveUp();
    return error;
  }
}
