/** A vector environment and what clients may ask of it: one message for all members. */

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  CloseResponseSchema,
  GetAttributeRequestSchema,
  GetAttributeResponseSchema,
  RenderResponseSchema,
  type ResetRequest,
  ResetRequestSchema,
  StepRequestSchema,
} from "../../gen/envwire/v1/environment_pb.js";
import { toMessage } from "../../values/messages.js";
import { NdArray } from "../../values/ndarray.js";
import { type Mapping, tuple, type Value } from "../../values/types.js";
import type { Kind } from "../../wire/kinds.js";
import { writeResetResponse, writeStepResponse } from "../../wire/steps.js";
import { Fault } from "../faults.js";
import { type Hosted, missing, seedOf } from "./hosted_env.js";
import { received, receivedMapping } from "./received.js";
import type { VectorEnvironment, VectorReset } from "./vector_environment.js";
import { written } from "./writing.js";

export class HostedVector implements Hosted {
  readonly capabilities = [];
  #started = false;
  #closed = false;

  constructor(readonly env: VectorEnvironment) {}

  async serve(kind: Kind, body: Uint8Array): Promise<Uint8Array> {
    const serve = this.#kinds[kind];
    if (serve === undefined)
      throw new Fault("UNSUPPORTED", `vector environments of this server do not have ${kind}`);
    return serve(body);
  }

  readonly #kinds: Partial<Record<Kind, (body: Uint8Array) => Promise<Uint8Array>>> = {
    reset: (body) => this.#reset(fromBinary(ResetRequestSchema, body)),
    step: (body) => this.#step(body),
    render: async () => {
      const frame = toMessage(await this.env.render(), "frame");
      return toBinary(RenderResponseSchema, create(RenderResponseSchema, { frame }));
    },
    getAttribute: async (body) => this.#getAttribute(body),
    close: async () => {
      await this.close();
      return toBinary(CloseResponseSchema, create(CloseResponseSchema));
    },
  };

  async #reset(request: ResetRequest): Promise<Uint8Array> {
    const { observation, info = {} } = await this.env.resetMembers(this.#readReset(request));
    this.#started = true;
    return written((writer) => writeResetResponse(writer, observation, info));
  }

  #readReset({ seed, options, memberOptions }: ResetRequest): VectorReset {
    const count = this.env.members.length;
    const { common, mask } = withoutMask(options && receivedMapping(options));
    const own = memberOptions.map((each) => receivedMapping(each));
    const everybody = Array.from({ length: count }, (_, index) => (own.length > 0 ? own[index] : common));
    return { seeds: seedsOf(seed && received(seed), count), options: everybody, mask };
  }

  async #step(body: Uint8Array): Promise<Uint8Array> {
    const { action, actions } = fromBinary(StepRequestSchema, body);
    if (action === undefined || actions.length > 0)
      throw new Fault("INVALID_VALUE", "a vector takes one batch of actions");
    if (!this.#started) throw new Fault("RESET_NEEDED", "call reset before the first step");
    const together = received(action);
    if (!this.env.actionSpace.contains(together))
      throw new Fault("INVALID_ACTION", "the batch of actions is not in the action space", {
        path: "action",
      });
    const { observations, rewards, terminations, truncations, infos } = await this.env.stepMembers(together);
    const typed = { typedReward: rewards, typedTerminated: terminations, typedTruncated: truncations };
    const plain = { reward: Number.NaN, terminated: false, truncated: false };
    return written((writer) =>
      writeStepResponse(writer, { observation: observations, info: infos, ...plain, ...typed }),
    );
  }

  /** An attribute of each member, or of those that were asked for. */
  #getAttribute(body: Uint8Array): Uint8Array {
    const { name, probe, members } = fromBinary(GetAttributeRequestSchema, body);
    const asked = members.length > 0 ? members.map((index) => this.env.members[index]) : this.env.members;
    const answer = create(GetAttributeResponseSchema, { exists: true });
    if (name === "np_random") {
      for (const member of asked) member?.random.create();
      answer.memberRandom = asked.flatMap((member) => (member === undefined ? [] : [member.random.mirror()]));
    } else {
      const values = asked.map((member) =>
        member?.env.exposed?.includes(name)
          ? (member.env as unknown as Record<string, Value>)[name]
          : undefined,
      );
      answer.exists = values.every((value) => value !== undefined);
      if (!answer.exists && !probe) throw missing(name);
      if (probe) answer.result = { case: "callable", value: answer.exists };
      else answer.result = { case: "value", value: toMessage(tuple(...(values as Value[])), name) };
    }
    return toBinary(GetAttributeResponseSchema, answer);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.env.close();
  }
}

const MASK = "reset_mask";

/** Takes the mask, which says who is reset, out of the options. */
function withoutMask(options: Mapping | undefined) {
  if (options === undefined) return { common: undefined, mask: undefined };
  const { [MASK]: mask, ...common } = options as Record<string, Value>;
  if (mask === undefined) return { common: options, mask };
  if (!(mask instanceof NdArray) || mask.dtype !== "bool" || Array.isArray(mask.data))
    throw new Fault("INVALID_VALUE", `${MASK} is a bool array with one element for each environment`);
  return { common, mask: mask.data };
}

/** Member i gets the seed + i, or the seed at i of a list. */
function seedsOf(seed: Value | undefined, count: number): (bigint | undefined)[] {
  if (seed === undefined || seed === null) return [];
  if (!Array.isArray(seed)) {
    const first = seedOf(seed);
    return Array.from({ length: count }, (_, index) => first + BigInt(index));
  }
  if (seed.length !== count)
    throw new Fault("INVALID_VALUE", `${seed.length} seeds for ${count} environments`);
  return seed.map((each) => (each === null ? undefined : seedOf(each)));
}
