/** Several environments that step together in one session, one after another, as Gymnasium's SyncVectorEnv. */

import { create, toBinary } from "@bufbuild/protobuf";
import {
  MemberResetSchema,
  type VectorInfo,
  VectorInfoSchema,
  type VectorRequest,
} from "../../gen/envwire/v1/environment_pb.js";
import type { RandomState } from "../../gen/envwire/v1/spaces_pb.js";
import { encodeSpace } from "../../spaces/encoding.js";
import type { Space } from "../../spaces/space.js";
import type { TypedArray } from "../../values/dtypes.js";
import { array, type Mapping, type NdArray, tuple, type Value } from "../../values/types.js";
import type { Described, Environment, Start, Transition } from "../environment.js";
import { Fault } from "../faults.js";
import { plainAction } from "./actions.js";
import { Attributes } from "./attributes.js";
import { batch, batchInfos, batchSpace, unbatch } from "./batching.js";
import type { MemberStarts } from "./hosted_env.js";
import { NpRandom } from "./np_random.js";
import { endsEpisode, isTrue, numberOf } from "./step_results.js";

const MODES = ["NEXT_STEP", "SAME_STEP", "DISABLED"] as const;
type AutoresetMode = (typeof MODES)[number];

/** How the members are reset. */
export interface VectorReset {
  /** Of each member; undefined to go on with its generator. */
  readonly seeds: readonly (bigint | undefined)[];
  /** Of each member. */
  readonly options: readonly (Mapping | undefined)[];
  /** The members to reset; undefined for all. */
  readonly mask: TypedArray | undefined;
}

export interface VectorTransition {
  readonly observations: Value;
  readonly rewards: NdArray;
  readonly terminations: NdArray;
  readonly truncations: NdArray;
  readonly infos: Mapping;
}

/** One member, its generator, and its state. */
class Member {
  readonly random = new NpRandom();
  readonly attributes: Attributes;
  observation: Value = null;
  ended = false;
  /** What it does in a request of a recording: as any other, nothing, or its first reset. */
  part: "whole" | "leftOut" | "beginning" = "whole";

  /** @param tell Takes the generator before a reset without a seed. */
  constructor(
    readonly env: Environment,
    renderMode: string | undefined,
    readonly tell: (before: NpRandom) => void,
  ) {
    this.attributes = new Attributes(env, renderMode);
  }

  async reset(seed: bigint | undefined, options: Mapping | undefined): Promise<Start> {
    if (seed !== undefined) this.random.seed(seed);
    else this.tell(this.random);
    this.random.create();
    const start = await this.env.reset({ random: this.random.generator, options });
    this.observation = start.observation;
    this.ended = false;
    return start;
  }
}

function memberReset(member: number, npRandom: RandomState | undefined): Uint8Array {
  const fields = npRandom === undefined ? { member } : { member, npRandom };
  return toBinary(MemberResetSchema, create(MemberResetSchema, fields));
}

export class VectorEnvironment implements Described {
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly members: readonly Member[];
  /** The MemberResets of the last reset or step, serialised. */
  resets: Uint8Array[] = [];
  #started = false;

  private constructor(
    envs: readonly Environment[],
    readonly mode: AutoresetMode,
    renderMode: string | undefined,
    reportResets: boolean,
  ) {
    this.members = envs.map(
      (env, member) =>
        new Member(env, renderMode, (random) => {
          if (reportResets) this.resets.push(memberReset(member, random.mirror().npRandom));
        }),
    );
    this.observationSpace = batchSpace(this.first.observationSpace, envs.length);
    this.actionSpace = batchSpace(this.first.actionSpace, envs.length);
  }

  static async of(
    request: VectorRequest,
    renderMode: string | undefined,
    make: () => Promise<Environment>,
  ): Promise<VectorEnvironment> {
    const { numEnvs, vectorizationMode, autoresetMode, reportMemberResets } = request;
    const mode = MODES.find((each) => each === (autoresetMode || "NEXT_STEP"));
    if (numEnvs < 1) throw new Fault("INVALID_VALUE", "a vector environment has one member at least");
    if (mode === undefined) throw new Fault("INVALID_VALUE", `there is no autoreset mode ${autoresetMode}`);
    if (vectorizationMode !== "" && vectorizationMode !== "sync")
      throw new Fault(
        "UNSUPPORTED",
        `this server steps members one after another, not by ${vectorizationMode}`,
      );
    const envs: Environment[] = [];
    try {
      while (envs.length < numEnvs) envs.push(await make());
      return new VectorEnvironment(envs, mode, renderMode, reportMemberResets);
    } catch (thrown) {
      for (const env of envs) await env.close?.();
      throw thrown;
    }
  }

  get first(): Environment {
    return (this.members[0] as Member).env;
  }

  get metadata(): Mapping {
    return this.first.metadata ?? { render_modes: [] };
  }

  info(): VectorInfo {
    return create(VectorInfoSchema, {
      numEnvs: this.members.length,
      singleObservationSpace: encodeSpace(this.first.observationSpace),
      singleActionSpace: encodeSpace(this.first.actionSpace),
      autoresetMode: this.mode,
    });
  }

  async resetMembers({ seeds, options, mask }: VectorReset): Promise<Start> {
    const infos: Mapping[] = [];
    this.resets = [];
    for (const [index, member] of this.members.entries()) {
      const masked = member.part === "whole" && mask !== undefined && !mask[index];
      const passedOver = masked || member.part === "leftOut";
      infos.push(passedOver ? {} : ((await member.reset(seeds[index], options[index])).info ?? {}));
    }
    this.#started = true;
    return { observation: this.#observations(), info: batchInfos(infos) };
  }

  async stepMembers(actions: Value): Promise<VectorTransition> {
    if (!this.#started) throw new Fault("RESET_NEEDED", "call reset before the first step");
    this.resets = [];
    const single = this.first.actionSpace;
    const each = unbatch(single, actions, this.members.length).map((action) => plainAction(single, action));
    const transitions: Transition[] = [];
    for (const [index, member] of this.members.entries())
      transitions.push(await this.#stepMember(member, each[index] as Value));
    return {
      observations: this.#observations(),
      rewards: this.#column(
        "float64",
        transitions.map(({ reward }) => numberOf(reward)),
      ),
      terminations: this.#column(
        "bool",
        transitions.map(({ terminated }) => isTrue(terminated ?? false)),
      ),
      truncations: this.#column(
        "bool",
        transitions.map(({ truncated }) => isTrue(truncated ?? false)),
      ),
      infos: batchInfos(transitions.map(({ info }) => info ?? {})),
    };
  }

  async #stepMember(member: Member, action: Value): Promise<Transition> {
    if (member.part === "leftOut") return { observation: member.observation, reward: 0 };
    if (member.part === "beginning" || (member.ended && this.mode === "NEXT_STEP")) {
      const { observation, info } = await member.reset(undefined, undefined);
      return { observation, reward: 0, info: info ?? {} };
    }
    if (member.ended) throw new Fault("RESET_NEEDED", "a member whose episode ended has to be reset first");
    const transition = await member.env.step(action);
    member.observation = transition.observation;
    member.ended = endsEpisode(transition);
    return member.ended && this.mode === "SAME_STEP" ? this.#resetAtOnce(member, transition) : transition;
  }

  async #resetAtOnce(member: Member, transition: Transition): Promise<Transition> {
    const { observation, info = {} } = await member.reset(undefined, undefined);
    const ended = { final_obs: transition.observation, final_info: transition.info ?? {} };
    return { ...transition, observation, info: { ...info, ...ended } };
  }

  /** See `Hosted.takePart`. */
  takePart(starts: MemberStarts, position: number): void {
    for (const member of this.members) member.part = "whole";
    for (const [index, { position: start, npRandom }] of starts) {
      const member = this.members[index];
      if (member === undefined) throw new Fault("INVALID_VALUE", `there is no member ${index}`);
      if (start > position && !this.#started)
        throw new Fault("INVALID_VALUE", "a member is left out before any reset; reset all members first");
      if (Number(start) === position && npRandom !== undefined) member.random.restore(npRandom);
      if (start >= position) member.part = start > position ? "leftOut" : "beginning";
    }
  }

  #observations(): Value {
    return batch(
      this.first.observationSpace,
      this.members.map(({ observation }) => observation),
    );
  }

  #column(dtype: "float64" | "bool", values: readonly (number | boolean)[]): NdArray {
    return array(dtype, [values.length], values);
  }

  /** A frame of each member. */
  async render(): Promise<Value> {
    const frames: Value[] = [];
    for (const { env } of this.members) frames.push((await env.render?.()) ?? null);
    return tuple(...frames);
  }

  async close(): Promise<void> {
    for (const { env } of this.members) await env.close?.();
  }
}
