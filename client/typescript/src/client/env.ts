/** A remote environment. */

import type { EnvwireError } from "../errors.js";
import type { ResetOptions } from "../session/operations.js";
import * as operations from "../session/operations.js";
import type { Mapping, Value } from "../values/types.js";
import type { CallOptions } from "./driver.js";
import { Remote } from "./remote.js";
import { type ResetResult, resetResult, type StepResult, stepResult } from "./results.js";

/** Actions that one request may hold. */
const MAX_CHUNK = 1024;

/** The result of `stepMany`. */
export interface StepManyResult<Observation = Value, Info = Mapping> {
  /** The results of the actions that were taken. Fewer than the actions if the episode ended, or if one failed. */
  readonly steps: StepResult<Observation, Info>[];
  /** Why the action after the last of `steps` failed; undefined if none did. */
  readonly error: EnvwireError | undefined;
}

/**
 * An environment on a server, with an interface like Gymnasium's.
 *
 * Observations have the environment's type; set it by the type parameter:
 * `make<NdArray<Float32Array>>("CartPole-v1")`.
 */
export class RemoteEnv<Observation = Value, Info = Mapping> extends Remote {
  /** Starts an episode. */
  async reset(options: ResetOptions & CallOptions = {}): Promise<ResetResult<Observation, Info>> {
    const answer = await this.driver.serve(operations.reset(options), options);
    this.followSpaces(answer);
    return resetResult(answer, this.warn);
  }

  /** Takes one step. */
  async step(action: Value, options?: CallOptions): Promise<StepResult<Observation, Info>> {
    return stepResult(await this.driver.serve(operations.step(action), options), this.warn);
  }

  /**
   * Takes steps one after another, until the episode ends or one fails, in as few requests as the server allows.
   *
   * @throws EnvwireError The first step failed.
   */
  async stepMany(
    actions: readonly Value[],
    options?: CallOptions,
  ): Promise<StepManyResult<Observation, Info>> {
    const longest = this.capabilities.has("chunk") ? MAX_CHUNK : 1;
    const steps: StepResult<Observation, Info>[] = [];
    while (steps.length < actions.length) {
      const error = await this.#takeSome(actions.slice(steps.length, steps.length + longest), steps, options);
      const last = steps.at(-1);
      if (error !== undefined || last?.terminated || last?.truncated) return { steps, error };
    }
    return { steps, error: undefined };
  }

  /** Takes steps in one request; returns why one failed. */
  async #takeSome(
    actions: readonly Value[],
    steps: StepResult<Observation, Info>[],
    options: CallOptions | undefined,
  ): Promise<EnvwireError | undefined> {
    if (actions.length === 1) {
      steps.push(await this.step(actions[0] as Value, options));
      return undefined;
    }
    const answer = await this.driver.serve(operations.stepMany(actions), options);
    for (const each of answer.steps) steps.push(stepResult(each, this.warn));
    return answer.error;
  }
}
