/** A remote vector environment: several environments that step together, in one message for all of them. */

import { readAnswer } from "../errors.js";
import type { ResetOptions } from "../session/operations.js";
import * as operations from "../session/operations.js";
import { decodeSpace } from "../spaces/decoding.js";
import type { Space } from "../spaces/space.js";
import type { Mapping, Value } from "../values/types.js";
import type { CallOptions } from "./driver.js";
import { type Connection, Remote } from "./remote.js";
import { resetResult, type VectorStepResult, vectorStepResult } from "./results.js";

/** The result of `reset` of a vector environment. */
export interface VectorResetResult<Observation = Value, Info = Mapping> {
  readonly observations: Observation;
  readonly infos: Info;
}

/** Several environments of one id in one session; observations, rewards and infos are batches, as in Gymnasium. */
export class RemoteVectorEnv<Observation = Value, Info = Mapping> extends Remote {
  readonly numEnvs: number;
  readonly singleObservationSpace: Space;
  readonly singleActionSpace: Space;
  /** When an environment whose episode ended is reset: "NEXT_STEP", "SAME_STEP", "DISABLED"; empty for unknown. */
  readonly autoresetMode: string;

  constructor(connection: Connection) {
    super(connection);
    const { vector } = connection.made;
    this.numEnvs = vector?.numEnvs ?? 0;
    this.singleObservationSpace = decodeSpace(vector?.singleObservationSpace);
    this.singleActionSpace = decodeSpace(vector?.singleActionSpace);
    this.autoresetMode = vector?.autoresetMode ?? "";
  }

  /** Starts an episode in every environment; environment i is seeded with `seed` + i. */
  async reset(options: ResetOptions & CallOptions = {}): Promise<VectorResetResult<Observation, Info>> {
    const answer = await this.driver.serve(operations.reset(options), options);
    const { observation, info } = resetResult<Observation, Info>(answer, this.warn);
    return { observations: observation, infos: info };
  }

  /** Takes one step in every environment. @param actions A batch: an array, or a tuple of them. */
  async step(actions: Value, options?: CallOptions): Promise<VectorStepResult<Observation, Info>> {
    const answer = await this.driver.serve(operations.step(actions), options);
    return readAnswer(() => vectorStepResult(answer, this.warn));
  }
}
