/** PCG64, NumPy's default bit generator: the same numbers from the same seed. */

import { seedWords } from "./seed_sequence.js";

const MULTIPLIER = (2549297995355413924n << 64n) | 4865540595714422341n;
const MASK = (1n << 128n) - 1n;
const LOW_64 = (1n << 64n) - 1n;

/** What NumPy's `bit_generator.state` holds. */
export interface Pcg64State {
  readonly state: bigint;
  readonly inc: bigint;
  /** Whether half of the last 64 bits is kept for the next 32-bit number. */
  readonly hasUint32: boolean;
  readonly uinteger: number;
}

export class Pcg64 {
  #state: bigint;
  #inc: bigint;
  #hasUint32 = false;
  #uinteger = 0;

  constructor(seed: bigint) {
    const [high, low, highInc, lowInc] = seedWords(seed, 4) as [bigint, bigint, bigint, bigint];
    this.#inc = ((((highInc << 64n) | lowInc) << 1n) | 1n) & MASK;
    this.#state = this.#inc; // one step from zero
    this.#state = (this.#state + ((high << 64n) | low)) & MASK;
    this.#advance();
  }

  get state(): Pcg64State {
    return { state: this.#state, inc: this.#inc, hasUint32: this.#hasUint32, uinteger: this.#uinteger };
  }

  set state({ state, inc, hasUint32, uinteger }: Pcg64State) {
    this.#state = state & MASK;
    this.#inc = inc & MASK;
    this.#hasUint32 = hasUint32;
    this.#uinteger = uinteger;
  }

  next64(): bigint {
    this.#advance();
    const folded = (this.#state >> 64n) ^ (this.#state & LOW_64);
    const rotation = this.#state >> 122n;
    return ((folded >> rotation) | (folded << (64n - rotation))) & LOW_64;
  }

  next32(): number {
    if (this.#hasUint32) {
      this.#hasUint32 = false;
      return this.#uinteger;
    }
    const bits = this.next64();
    this.#hasUint32 = true;
    this.#uinteger = Number(bits >> 32n);
    return Number(bits & 0xffffffffn);
  }

  #advance(): void {
    this.#state = (this.#state * MULTIPLIER + this.#inc) & MASK;
  }
}
