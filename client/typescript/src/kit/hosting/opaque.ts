/** Values of an info without a wire form are sent as their class and text, so that they do not break a step. */

import { encodeValue } from "../../values/encoding.js";
import { entriesOf, isMapping, mappingOf } from "../../values/mappings.js";
import { type Mapping, Opaque, Tuple, type Value } from "../../values/types.js";

const MAX_TEXT = 1_000;

/** Returns a mapping in which every value without a wire form is an `Opaque`. */
export function withOpaques(mapping: Mapping): Mapping {
  return mappingOf(entriesOf(mapping).map(([key, value]) => [key, opaqueIn(value)]));
}

function opaqueIn(value: Value): Value {
  if (value instanceof Tuple) return Tuple.from([...value].map(opaqueIn)) as Tuple;
  if (Array.isArray(value)) return value.map(opaqueIn);
  if (isMapping(value)) return withOpaques(value);
  try {
    encodeValue(value);
    return value;
  } catch {
    return new Opaque(nameOf(value), String(value).slice(0, MAX_TEXT));
  }
}

function nameOf(value: unknown): string {
  return typeof value === "object" && value !== null ? (value.constructor?.name ?? "Object") : typeof value;
}
