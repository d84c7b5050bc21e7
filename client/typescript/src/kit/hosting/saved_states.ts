/** The saved states of one session. They never leave the server: a client only has their numbers. */

import { deserialize, serialize } from "node:v8";
import { Fault } from "../faults.js";

const MOST_STATES = 1_000;
const MOST_BYTES = 256 * 1024 * 1024;

export class SavedStates<State> {
  readonly #kept = new Map<number, Buffer>();
  #last = 0;
  #bytes = 0;

  /** Saves a copy of a state and returns its number; deletes the oldest states if there are too many. */
  save(state: State): number {
    const copy = serialize(state);
    this.#kept.set(++this.#last, copy);
    this.#bytes += copy.length;
    for (const [number, { length }] of this.#kept) {
      if (this.#kept.size <= MOST_STATES && this.#bytes <= MOST_BYTES) break;
      this.#kept.delete(number);
      this.#bytes -= length;
    }
    return this.#last;
  }

  /** Returns a copy of a state, which can be asked for again. */
  find(number: number): State {
    const copy = this.#kept.get(number);
    if (copy === undefined) throw new Fault("INVALID_VALUE", `the session keeps no state ${number}`);
    return deserialize(copy) as State;
  }
}
