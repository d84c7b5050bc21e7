/** A random number generator that draws the same numbers as NumPy's `default_rng(seed)`, where it has the method. */

import { randomBytes } from "node:crypto";
import { Pcg64 } from "./pcg64.js";

const TWO_POW_53 = 2 ** 53;

export class Generator {
  /** The seed. */
  readonly seed: bigint;
  readonly bits: Pcg64;

  /** @param seed A non-negative integer of any size; absent for an unpredictable one. */
  constructor(seed?: number | bigint) {
    this.seed = seed === undefined ? BigInt(`0x${randomBytes(16).toString("hex")}`) : BigInt(seed);
    this.bits = new Pcg64(this.seed);
  }

  /** Returns a number from 0 to below 1, as NumPy's `random()`. */
  random(): number {
    return Number(this.bits.next64() >> 11n) / TWO_POW_53;
  }

  /** Returns a number from `low` to below `high`, as NumPy's `uniform(low, high)`. */
  uniform(low = 0, high = 1): number {
    return low + (high - low) * this.random();
  }

  /** Returns an integer from `low` to below `high`, as NumPy's `integers(low, high)`. */
  integers(low: number, high: number): number {
    const largest = high - low - 1;
    if (!Number.isSafeInteger(low) || !Number.isSafeInteger(largest) || largest < 0)
      throw new RangeError(`integers(${low}, ${high}): the range is empty, or too large for numbers`);
    if (largest === 0) return low;
    return low + (largest <= 0xffffffff ? this.#below32(largest) : this.#below64(BigInt(largest)));
  }

  /** Lemire's method, with 32 bits. */
  #below32(largest: number): number {
    if (largest === 0xffffffff) return this.bits.next32();
    const range = BigInt(largest) + 1n;
    const threshold = (1n << 32n) % range;
    for (;;) {
      const product = BigInt(this.bits.next32()) * range;
      if ((product & 0xffffffffn) >= threshold) return Number(product >> 32n);
    }
  }

  /** Lemire's method, with 64 bits. */
  #below64(largest: bigint): number {
    const range = largest + 1n;
    const threshold = (1n << 64n) % range;
    for (;;) {
      const product = this.bits.next64() * range;
      if ((product & ((1n << 64n) - 1n)) >= threshold) return Number(product >> 64n);
    }
  }
}
