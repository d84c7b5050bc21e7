/** Checks actions, and converts them for authors of environments: plain numbers for Discrete spaces. */

import { Discrete, integerOf } from "../../spaces/arrays.js";
import { Dict, Tuple } from "../../spaces/composite.js";
import { shownSpace, shownValue } from "../../spaces/shown.js";
import type { Space } from "../../spaces/space.js";
import { entriesOf, mappingOf } from "../../values/mappings.js";
import { type Mapping, tuple, type Value } from "../../values/types.js";
import { Fault } from "../faults.js";

/** Throws INVALID_ACTION, which names the action and the space, for an action that is not in the space. */
export function checkAction(space: Space, action: Value): void {
  if (space.contains(action)) return;
  const metadata = invalidAction(space, action);
  const text = `action ${metadata.action} is not in the action space ${metadata.action_space}`;
  throw new Fault("INVALID_ACTION", text, metadata);
}

/** The metadata of INVALID_ACTION. */
export function invalidAction(space: Space, action: Value) {
  return { path: "action", action: shownValue(action), action_space: shownSpace(space) };
}

/** Returns an action that is in the space, with numbers in the place of scalars. */
export function plainAction(space: Space, action: Value): Value {
  if (space instanceof Discrete) return Number(integerOf(action));
  if (space instanceof Tuple)
    return tuple(
      ...(action as Value[]).map((each, index) => plainAction(space.spaces[index] as Space, each)),
    );
  if (space instanceof Dict) {
    return mappingOf(
      entriesOf(action as Mapping).map(([key, value]) => [
        key,
        plainAction(space.spaces.get(key) as Space, value),
      ]),
    );
  }
  return action;
}
