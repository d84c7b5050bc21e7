/** Dictionaries: objects where the keys allow it, else Maps. */

import type { Mapping, Value } from "./types.js";

/** An object puts keys that look like indices first, and takes this name for its prototype. */
const NOT_PLAIN = /^(?:0|[1-9][0-9]{0,9}|__proto__)$/;

/** Returns an object where it keeps the keys as they are and in order, else a Map. */
export function mappingOf(entries: [Value, Value][]): Mapping {
  const plain = entries.every(([key]) => typeof key === "string" && !NOT_PLAIN.test(key));
  return plain ? Object.fromEntries(entries as [string, Value][]) : new Map(entries);
}

export function entriesOf(mapping: Mapping): [Value, Value][] {
  return mapping instanceof Map ? [...mapping] : Object.entries(mapping);
}

export function isMapping(value: Value | undefined): value is Mapping {
  if (typeof value !== "object" || value === null) return false;
  return value instanceof Map || Object.getPrototypeOf(value) === Object.prototype;
}
