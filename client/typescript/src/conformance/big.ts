/** `Conformance/Big-v0`: observations of any size. */

import type { Environment, Start, Transition } from "../kit/environment.js";
import * as spaces from "../spaces/index.js";
import { NdArray, tuple } from "../values/types.js";

function bytes(count: number): NdArray<Uint8Array> {
  return new NdArray(
    "uint8",
    [count],
    Uint8Array.from({ length: count }, (_, index) => index % 251),
  );
}

/** An action n gives an array whose element i is i modulo 251; a list gives a tuple of such. */
export class Big implements Environment {
  readonly observationSpace = spaces.box(0, 255, [2 ** 20], "uint8");
  readonly actionSpace = spaces.discrete(2 ** 31);
  readonly checked = false;

  reset(): Start {
    return { observation: bytes(1) };
  }

  step(action: number | number[]): Transition {
    const observation = Array.isArray(action) ? tuple(...action.map(bytes)) : bytes(action);
    return { observation, reward: 0 };
  }
}
