/**
 * Keeps the event loop turning while a message of a direct channel is waited for that is likely to come at once.
 *
 * A loop without work sleeps, and so does its processor: to wake up costs more than a step of a cheap environment. A step
 * of CartPole takes 25 to 32 us in place of 49 to 61 us with it, one of a kit's Counter 24 in place of 46. So a wait
 * begins with turns of the loop, in which everything else is served as well. Where they were in vain (the other side is
 * slow, or other processes need the processor, which Node.js cannot yield), the next waits sleep at once: one at first,
 * and up to 63 when that goes on.
 */

import { availableParallelism } from "node:os";

/** Milliseconds: most steps of cheap environments are served in less, even with images. */
const MOMENT = 0.1;
const MOST_SLEPT = 63;

/** The waits of one connection. */
export class AdaptiveSpin {
  #until = 0;
  #turning = false;
  #failures = 0;
  #toSleep = 0;

  /**
   * @param clock Monotonic time in milliseconds.
   * @param soon Calls back at the next turn of the event loop.
   */
  constructor(
    readonly clock: () => number = () => performance.now(),
    readonly soon: (callback: () => void) => void = setImmediate,
    readonly alone = availableParallelism() === 1,
  ) {}

  /** Begins a wait. */
  begin(): void {
    if (this.alone || this.#toSleep-- > 0) return;
    this.#until = this.clock() + MOMENT;
    if (this.#turning) return;
    this.#turning = true;
    this.soon(this.#turn);
  }

  /** Ends it. */
  woke(): void {
    if (this.#until === 0) return;
    this.#until = 0;
    this.#failures >>= 1;
  }

  readonly #turn = (): void => {
    if (this.clock() < this.#until) return this.soon(this.#turn);
    this.#turning = false;
    if (this.#until === 0) return;
    this.#until = 0;
    this.#failures = Math.min(2 * this.#failures + 1, MOST_SLEPT);
    this.#toSleep = this.#failures;
  };
}
