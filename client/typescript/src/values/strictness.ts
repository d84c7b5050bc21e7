/** Checks of clients' values: refuses values that cannot come from Python, or have no meaning there. */

import { MalformedMessageError } from "../errors.js";
import { isMapping } from "./mappings.js";
import { type EnumMember, NdArray, Tuple, type Value } from "./types.js";

const AUTORESET_MODES = new Set(["NEXT_STEP", "SAME_STEP", "DISABLED"]);

/** Whether an enumeration that travels has the member. */
export function isKnown({ enumeration, member }: EnumMember): boolean {
  return enumeration === "AutoresetMode" && AUTORESET_MODES.has(member);
}

/** Refuses lists, sets, dictionaries and arrays where Python takes hashable values only. */
export function refuseUnhashable(value: Value): void {
  if (value instanceof Tuple) value.forEach(refuseUnhashable);
  else if (Array.isArray(value) || value instanceof Set || isMapping(value) || value instanceof NdArray)
    throw new MalformedMessageError("a list, set, dictionary or array is no key and in no set");
}

/** Refuses a dictionary that has a key twice, or one that is not hashable. */
export function checkKeys(entries: readonly (readonly [Value, Value])[]): void {
  const keys = new Set<Value>();
  for (const [key] of entries) {
    refuseUnhashable(key);
    if (keys.has(key)) throw new MalformedMessageError("a dictionary has a key twice");
    keys.add(key);
  }
}
