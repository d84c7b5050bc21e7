/** `Conformance/EverySpace-v0`: one space of each kind. */

import type { Environment, ResetContext, Start, Transition } from "../kit/environment.js";
import * as spaces from "../spaces/index.js";
import type { Dict, Value } from "../values/types.js";
import { Scalar } from "../values/types.js";

/** The spaces are in the order of their keys. There is no stacked sequence, since this library cannot sample it. */
function everySpace() {
  const shared = spaces.discrete(3);
  return spaces.dict({
    box: spaces.box([-1, Number.NEGATIVE_INFINITY], [1, Number.POSITIVE_INFINITY], [2]),
    discrete: spaces.discrete(5, -2),
    graph: spaces.graph(spaces.box(0, 1, [2]), spaces.discrete(3)),
    multi_binary: spaces.multiBinary([2, 3]),
    multi_discrete: new spaces.MultiDiscrete([3, 4], [0, 10]),
    one_of: spaces.oneOf(spaces.discrete(2), spaces.box(0, 1, [1], "float64")),
    sequence: spaces.sequence(spaces.discrete(4)),
    text: new spaces.Text(4, 1, "ab"),
    tuple: spaces.tuple(shared, shared),
  });
}

/** An observation is a sample of the space, which each reset seeds anew; a step takes any action. */
export class EverySpace implements Environment {
  readonly observationSpace = everySpace();
  readonly actionSpace = everySpace();
  readonly checked = false;

  reset({ random }: ResetContext): Start {
    this.observationSpace.seed(random.integers(0, 2 ** 32));
    return { observation: this.#sample() };
  }

  step(action: Value): Transition {
    return { observation: this.#sample(), reward: 0, info: { contained: this.actionSpace.contains(action) } };
  }

  /** Draws a sample, with its integer as a scalar, as in NumPy. */
  #sample(): Value {
    const sample = this.observationSpace.sample() as Dict;
    return { ...sample, discrete: Scalar.of("int64", Number(sample["discrete"])) };
  }
}
