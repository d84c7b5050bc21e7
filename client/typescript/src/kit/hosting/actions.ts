/** Converts actions for authors of environments: plain numbers for Discrete spaces. */

import { Discrete, integerOf } from "../../spaces/arrays.js";
import { Dict, Tuple } from "../../spaces/composite.js";
import type { Space } from "../../spaces/space.js";
import { entriesOf, mappingOf } from "../../values/mappings.js";
import { type Mapping, tuple, type Value } from "../../values/types.js";

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
