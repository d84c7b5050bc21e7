/** A set that observations or actions come from. */

import { Generator } from "../random/generator.js";
import type { Value } from "../values/types.js";

export abstract class Space<Sample extends Value = Value> {
  #random: Generator | undefined;

  /** Whether a value belongs to the space. Types count as they do in Gymnasium: an array has the space's dtype. */
  abstract contains(value: Value): boolean;

  protected abstract draw(random: Generator): Sample;

  /**
   * Returns a random element.
   *
   * It draws from a generator of its own, not as NumPy does: the same seed leads to other samples than in Python.
   */
  sample(): Sample {
    this.#random ??= new Generator();
    return this.draw(this.#random);
  }

  /** Starts the generator anew. */
  seed(seed: number | bigint): void {
    this.#random = new Generator(seed);
  }

  /** Draws an element with a given generator. */
  drawWith(random: Generator): Sample {
    return this.draw(random);
  }
}
