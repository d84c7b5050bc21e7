/** `Conformance/Echo-v0`: returns its input. */

import type { Environment, ResetContext, Start, Transition } from "../kit/environment.js";
import * as spaces from "../spaces/index.js";
import { entriesOf, isMapping } from "../values/mappings.js";
import { type Mapping, Tuple, type Value } from "../values/types.js";

/** Returns a value that is a dictionary; an empty one for other values. */
function mapOf(value: Value): ReadonlyMap<Value, Value> {
  return new Map(isMapping(value) ? entriesOf(value) : []);
}

/**
 * An observation is the action, of any type. A dictionary as action may set the results of the step: "echo"
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
