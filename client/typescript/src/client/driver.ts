/** Drives a session over a transport: sends what it says, waits, and hands over what came of it. */

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
  /** Gives up waiting when it is aborted. The request may have been served; the next one finds out. */
  readonly signal?: AbortSignal | undefined;
  /** Seconds to wait for the answer, in place of the environment's `timeout`. */
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

  /** Sends a request and returns what its answer says. Calls that are made side by side are served in order. */
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

  /** Sends the request that nobody waited for once more. What it led to is nobody's business but that of its end. */
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

  /** Sends a request, and sends it again, until its answer is here or nobody waits for it any more. */
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

  /** Waits for as long as the session says and returns the request to repeat, or throws the error that remains. */
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
