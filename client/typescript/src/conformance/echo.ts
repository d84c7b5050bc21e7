/** `Conformance/Echo-v0`: returns what it is given. */

import type { Environment, ResetContext, Start, Transition } from "../kit/environment.js";
import * as spaces from "../spaces/index.js";
import { entriesOf, isMapping } from "../values/mappings.js";
import { type Mapping, Tuple, type Value } from "../values/types.js";

/** Returns the dictionary that a value is; an empty one for others. */
function mapOf(value: Value): ReadonlyMap<Value, Value> {
  return new Map(isMapping(value) ? entriesOf(value) : []);
}

/**
 * An observation is the action, whatever that is. An action that is a dictionary may say what the step returns: "echo"
 * is the observation, "warn" the text of a warning; the others have the names of the results.
 */
export class Echo implements Environment {
  readonly observationSpace = spaces.discrete(2);
  readonly actionSpace = spaces.discrete(2);
  readonly checked = false;
  readonly exact = true;
  readonly exposed = ["repeat", "value"];
  value: Value = null;

  reset({ options = {} }: ResetContext): Start {
    return { observation: mapOf(options).get("observation") ?? 0, info: options };
  }

  step(action: Value): Transition {
    const said = mapOf(action);
    const warning = said.get("warn");
    return {
      observation: said.has("echo") ? (said.get("echo") as Value) : action,
      reward: said.has("reward") ? (said.get("reward") as Value) : 0,
      terminated: said.get("terminated") ?? false,
      truncated: said.get("truncated") ?? false,
      info: (said.get("info") as Mapping | undefined) ?? {},
      ...(warning !== undefined && { warnings: [{ category: "UserWarning", text: String(warning) }] }),
    };
  }

  /** Returns the arguments, of which a last one that is a dictionary has names. */
  repeat(...args: Value[]): Mapping {
    const named = mapOf(args.at(-1) ?? null);
    const count = named.size > 0 ? args.length - 1 : args.length;
    return { args: Tuple.from(args.slice(0, count)) as Tuple, kwargs: new Map(named) };
  }
}
