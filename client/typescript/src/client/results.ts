/** The results of `reset` and `step`, with Gymnasium's names. */

import { MalformedMessageError } from "../errors.js";
import type { Mapping, Value } from "../values/types.js";
import { NdArray } from "../values/types.js";
import type { ResetAnswer, StepAnswer, Warning } from "../wire/steps.js";

/** The start of an episode. */
export interface ResetResult<Observation = Value, Info = Mapping> {
  readonly observation: Observation;
  readonly info: Info;
}

/** One step. */
export interface StepResult<Observation = Value, Info = Mapping> {
  readonly observation: Observation;
  readonly reward: number;
  /** Whether a terminal state was reached. */
  readonly terminated: boolean;
  /** Whether the episode was truncated, for example by a time limit. */
  readonly truncated: boolean;
  readonly info: Info;
}

/** One step of a vector environment; all arrays have one element for each environment. */
export interface VectorStepResult<Observation = Value, Info = Mapping> {
  readonly observations: Observation;
  readonly rewards: NdArray;
  readonly terminations: NdArray;
  readonly truncations: NdArray;
  readonly infos: Info;
}

export function resetResult<Observation, Info>(
  answer: ResetAnswer,
  warn: Warn,
): ResetResult<Observation, Info> {
  answer.warnings.forEach(warn);
  return { observation: answer.observation as Observation, info: answer.info as Info };
}

export function stepResult<Observation, Info>(answer: StepAnswer, warn: Warn): StepResult<Observation, Info> {
  if (answer.warnings.length > 0) answer.warnings.forEach(warn);
  const { observation, reward, terminated, truncated, info } = answer;
  return { observation: observation as Observation, reward, terminated, truncated, info: info as Info };
}

export function vectorStepResult<Observation, Info>(
  answer: StepAnswer,
  warn: Warn,
): VectorStepResult<Observation, Info> {
  answer.warnings.forEach(warn);
  return {
    observations: answer.observation as Observation,
    rewards: column(answer.typedReward),
    terminations: column(answer.typedTerminated),
    truncations: column(answer.typedTruncated),
    infos: answer.info as Info,
  };
}

function column(value: Value | undefined): NdArray {
  if (value instanceof NdArray) return value;
  throw new MalformedMessageError("a step of a vector lacks a column");
}

/** Handles a warning of the environment. */
export type Warn = (warning: Warning) => void;

/** Emits a warning by `process.emitWarning`. */
export function warn({ category, text }: Warning): void {
  process.emitWarning(text, category);
}
