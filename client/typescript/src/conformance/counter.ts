/** `Conformance/Counter-v0`: counts, so that a lost or repeated step shows. */

import type { Environment, MakeContext, ResetContext, Start, Transition } from "../kit/environment.js";
import * as spaces from "../spaces/index.js";
import { array, Float, type Mapping, type NdArray, type Value } from "../values/types.js";

const SIZE = 8;

/** An observation is [steps of the episode, sum of its actions]; the step with number `length` terminates. */
export class Counter implements Environment {
  readonly observationSpace = spaces.box(0n, 2n ** 62n, [2], "int64");
  readonly actionSpace = spaces.discrete(2);
  readonly metadata = { render_modes: ["rgb_array", "ansi"], render_fps: 10 };
  readonly exposed = ["add", "length", "steps", "sum"];
  length: number;
  readonly #renderMode: string | undefined;
  steps = 0;
  sum = 0;

  constructor({ renderMode, kwargs }: MakeContext) {
    this.#renderMode = renderMode;
    this.length = Number((kwargs as Record<string, Value>)["length"] ?? 10);
  }

  #observe(): NdArray {
    return array("int64", [2], [this.steps, this.sum]);
  }

  reset({ random }: ResetContext): Start {
    this.steps = this.sum = 0;
    return { observation: this.#observe(), info: { draw: new Float(random.random()) } };
  }

  step(action: number): Transition {
    this.add(action);
    return { observation: this.#observe(), reward: action, terminated: this.steps === this.length };
  }

  /** Counts a step, adds to the sum, and returns the sum. */
  add(amount: number): number {
    if (typeof amount !== "number") throw new TypeError("add takes a number");
    this.steps += 1;
    this.sum += amount;
    return this.sum;
  }

  render(): Value {
    if (this.#renderMode === "ansi") return String(this.steps);
    if (this.#renderMode === undefined) return null;
    return array("uint8", [SIZE, SIZE, 3], Array<number>(SIZE * SIZE * 3).fill(this.steps % 256));
  }

  getState(): Mapping {
    return { steps: this.steps, sum: this.sum };
  }

  setState({ steps, sum }: { steps: number; sum: number }): void {
    this.steps = steps;
    this.sum = sum;
  }
}
