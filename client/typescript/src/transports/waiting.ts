/** A wait for one answer, with a deadline and an AbortSignal. */

import { EnvwireError } from "../errors.js";
import type { Wait } from "./transport.js";

/** Milliseconds: Node.js takes a longer wait for one of a millisecond. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** A pending answer. It is settled once; later results are ignored. */
export class Waiting<T> {
  readonly promise: Promise<T>;
  #resolve!: (value: T) => void;
  #reject!: (error: Error) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #signal: AbortSignal | undefined;
  readonly #abort: (() => void) | undefined;

  /** @param giveUp Called when the wait is abandoned, with the error with which the promise is rejected. */
  constructor({ timeout, signal }: Wait, giveUp: (error: EnvwireError) => void) {
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#timer = setTimeout(() => giveUp(timedOut(timeout)), Math.min(timeout, LONGEST_TIMER));
    this.#signal = signal;
    if (signal !== undefined) {
      this.#abort = () => giveUp(cancelled(signal));
      if (signal.aborted) queueMicrotask(this.#abort);
      else signal.addEventListener("abort", this.#abort, { once: true });
    }
  }

  resolve(value: T): void {
    this.#settle();
    this.#resolve(value);
  }

  reject(error: Error): void {
    this.#settle();
    this.#reject(error);
  }

  #settle(): void {
    clearTimeout(this.#timer);
    if (this.#abort !== undefined) this.#signal?.removeEventListener("abort", this.#abort);
  }
}

export function timedOut(milliseconds: number): EnvwireError {
  return new EnvwireError("DEADLINE_EXCEEDED", `no answer within ${(milliseconds / 1000).toPrecision(3)} s`);
}

export function cancelled(signal: AbortSignal): EnvwireError {
  return new EnvwireError("CANCELLED", "the call was aborted", { cause: signal.reason });
}
