/** Converts the results of a step to the fields of its answer. */

import { Float, NdArray, Scalar, type Value } from "../../values/types.js";
import type { StepParts } from "../../wire/steps.js";
import type { Transition } from "../environment.js";

/** Numbers and booleans have separate fields; values of other types are sent in addition, unchanged. */
export function stepParts(transition: Transition, random: Uint8Array | undefined): StepParts {
  const { observation, reward, terminated = false, truncated = false, info = {}, warnings = [] } = transition;
  const parts: StepParts = {
    observation,
    reward: numberOf(reward),
    terminated: isTrue(terminated),
    truncated: isTrue(truncated),
    info,
    warnings,
    random,
  };
  if (typeof reward !== "number" && !(reward instanceof Float)) parts.typedReward = reward;
  if (typeof terminated !== "boolean") parts.typedTerminated = terminated;
  if (typeof truncated !== "boolean") parts.typedTruncated = truncated;
  return parts;
}

/** Whether a step ended its episode. */
export function endsEpisode({ terminated = false, truncated = false }: Transition): boolean {
  return isTrue(terminated) || isTrue(truncated);
}

/** Returns a value as a number, NaN where it is none. */
export function numberOf(value: Value): number {
  if (typeof value === "number") return value;
  if (value instanceof Float || value instanceof Scalar) return value.valueOf();
  if (typeof value === "bigint" || typeof value === "boolean") return Number(value);
  return value instanceof NdArray && value.size === 1 ? Number(value.data[0]) : Number.NaN;
}

export function isTrue(value: Value): boolean {
  if (typeof value === "boolean") return value;
  const number = numberOf(value);
  return Number.isNaN(number) ? Boolean(value) : number !== 0;
}
