/** An environment that counts: whatever is lost or doubled is seen. */

import { setTimeout as sleep } from "node:timers/promises";
import {
  type Environment,
  Float,
  type ResetContext,
  type Start,
  spaces,
  type Transition,
} from "../src/index.js";

export class Counting implements Environment {
  readonly observationSpace = spaces.discrete(1_000_000);
  readonly actionSpace = spaces.discrete(4);
  readonly metadata = { render_modes: ["ansi"] };
  readonly exposed = ["steps", "double"];
  readonly length: number;
  steps = 0;
  draw = 0;
  closed = false;

  constructor(length = Number.POSITIVE_INFINITY) {
    this.length = length;
  }

  reset({ random, options }: ResetContext): Start {
    this.steps = 0;
    this.draw = random.random();
    return { observation: 0, info: { draw: this.draw, options: options ?? null } };
  }

  /** Action 2 throws, action 3 takes a while. */
  step(action: number): Transition | Promise<Transition> {
    if (action === 2) throw new RangeError("two is too many");
    this.steps += 1;
    const transition = {
      observation: this.steps,
      reward: action,
      terminated: this.steps >= this.length,
      info: { half: new Float(this.steps / 2) },
    };
    return action === 3 ? sleep(150, transition) : transition;
  }

  render(): string {
    return `${this.steps}`;
  }

  double(value: number): number {
    return 2 * value;
  }

  close(): void {
    this.closed = true;
  }
}

/** Counts without ever failing. */
export class Walking extends Counting {
  override readonly actionSpace = spaces.discrete(2);
}
