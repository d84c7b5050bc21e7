/** Environments that fail on demand: they throw, or are slow. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Environment, MakeContext, ResetContext, Start, Transition } from "../kit/environment.js";
import * as spaces from "../spaces/index.js";
import type { Mapping, Value } from "../values/types.js";

const RAISED = ["ValueError", "KeyError", "RuntimeError", "ZeroDivisionError"];

/** An error with the name and the arguments of an exception of Python. */
class Raised extends Error {
  readonly args: readonly Value[] = ["asked for it", 7];
  constructor(override readonly name: string) {
    super("('asked for it', 7)");
  }
}

function raise(name: Value | undefined): void {
  if (typeof name === "string" && RAISED.includes(name)) throw new Raised(name);
}

/** `Conformance/Raise-v0`: throws what an action or an option names. */
export class Raise implements Environment {
  readonly observationSpace = spaces.discrete(2);
  readonly actionSpace = spaces.text(20);
  readonly checked = false;
  #inClose: Value | undefined;

  reset({ options = {} }: ResetContext): Start {
    const asked = options as Record<string, Value>;
    this.#inClose = asked["raise_in_close"];
    raise(asked["raise"]);
    return { observation: 0 };
  }

  step(action: Value): Transition {
    raise(action);
    const formless = Symbol("nothing that can be sent") as unknown as Value;
    const info: Mapping = action === "opaque" ? { it: formless } : {};
    return { observation: action === "object" ? formless : 0, reward: 0, info };
  }

  close(): void {
    raise(this.#inClose);
  }
}

/** `Conformance/Slow-v0`: a step takes as many seconds as its action says. */
export class Slow implements Environment {
  readonly observationSpace = spaces.discrete(2);
  readonly actionSpace = spaces.discrete(2);
  readonly checked = false;
  #steps = 0;

  static async make({ kwargs }: MakeContext): Promise<Slow> {
    await sleep(1000 * Number((kwargs as Record<string, Value>)["seconds"] ?? 0));
    return new Slow();
  }

  reset(): Start {
    return { observation: 0 };
  }

  async step(action: number): Promise<Transition> {
    await sleep(1000 * action);
    this.#steps += 1;
    return { observation: this.#steps, reward: 0 };
  }
}
