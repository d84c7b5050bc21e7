/** A vector environment, with the requests that clients can send to it: one message for all members. */

import { create, toBinary } from "@bufbuild/protobuf";
import {
  CallMethodRequestSchema,
  CallMethodResponseSchema,
  CloseResponseSchema,
  GetAttributeRequestSchema,
  GetAttributeResponseSchema,
  RenderResponseSchema,
  type ResetRequest,
  ResetRequestSchema,
  SetAttributeRequestSchema,
  SetAttributeResponseSchema,
  StepRequestSchema,
} from "../../gen/envwire/v1/environment_pb.js";
import { toMessage } from "../../values/messages.js";
import { type Mapping, NdArray, tuple, type Value } from "../../values/types.js";
import type { Kind } from "../../wire/kinds.js";
import { writeResetResponse, writeStepResponse } from "../../wire/steps.js";
import { Fault } from "../faults.js";
import { parseRequest } from "../request_fields.js";
import { checkAction } from "./actions.js";
import { missing } from "./attributes.js";
import type { MemberStarts } from "./hosted_env.js";
import { type Hosted, seedOf } from "./hosted_env.js";
import { received, receivedMapping } from "./received.js";
import type { VectorEnvironment, VectorReset } from "./vector_environment.js";
import { written } from "./writing.js";

export class HostedVector implements Hosted {
  readonly capabilities = ["replay"];
  steps = 0;
  #closed = false;

  constructor(readonly env: VectorEnvironment) {}

  async serve(kind: Kind, body: Uint8Array): Promise<Uint8Array> {
    const serve = this.#kinds[kind];
    if (serve === undefined)
      throw new Fault("UNSUPPORTED", `vector environments of this server do not have ${kind}`);
    return serve(body);
  }

  readonly #kinds: Partial<Record<Kind, (body: Uint8Array) => Promise<Uint8Array>>> = {
    reset: (body) => this.#reset(parseRequest(ResetRequestSchema, body)),
    step: (body) => this.#step(body),
    render: async () => {
      const frame = toMessage(await this.env.render(), "frame");
      return toBinary(RenderResponseSchema, create(RenderResponseSchema, { frame }));
    },
    getAttribute: async (body) => this.#getAttribute(body),
    setAttribute: async (body) => this.#setAttribute(body),
    callMethod: (body) => this.#callMethod(body),
    close: async () => {
      await this.close();
      return toBinary(CloseResponseSchema, create(CloseResponseSchema));
    },
  };

  async #reset(request: ResetRequest): Promise<Uint8Array> {
    const { observation, info = {} } = await this.env.resetMembers(this.#readReset(request));
    const { resets } = this.env;
    return written((writer) => writeResetResponse(writer, observation, info, { memberResets: resets }));
  }

  #readReset({ seed, options, memberOptions }: ResetRequest): VectorReset {
    const count = this.env.members.length;
    const { common, mask } = withoutMask(options && receivedMapping(options));
    const own = memberOptions.map((each) => receivedMapping(each));
    const everybody = Array.from({ length: count }, (_, index) => (own.length > 0 ? own[index] : common));
    return { seeds: seedsOf(seed && received(seed), count), options: everybody, mask };
  }

  async #step(body: Uint8Array): Promise<Uint8Array> {
    const { action, actions } = parseRequest(StepRequestSchema, body);
    if (action === undefined || actions.length > 0)
      throw new Fault("INVALID_VALUE", "a vector takes one batch of actions");
    this.steps += 1;
    const together = received(action);
    checkAction(this.env.actionSpace, together);
    const { observations, rewards, terminations, truncations, infos } = await this.env.stepMembers(together);
    const typed = { typedReward: rewards, typedTerminated: terminations, typedTruncated: truncations };
    const plain = { reward: Number.NaN, terminated: false, truncated: false };
    const memberResets = this.env.resets;
    return written((writer) =>
      writeStepResponse(writer, { observation: observations, info: infos, memberResets, ...plain, ...typed }),
    );
  }

  /** An attribute of each member, or of those that were asked for. */
  #getAttribute(body: Uint8Array): Uint8Array {
    const { name, probe, members } = parseRequest(GetAttributeRequestSchema, body);
    const asked = this.#named(members);
    const answer = create(GetAttributeResponseSchema);
    const values = asked.map(({ attributes }) => attributes.get(name));
    answer.exists = name === "np_random" || values.every((value) => value !== undefined);
    if (probe) return toBinary(GetAttributeResponseSchema, answer);
    if (!answer.exists) throw missing(name);
    if (name === "np_random") {
      for (const { random } of asked) random.create();
      answer.memberRandom = asked.map(({ random }) => random.mirror());
    } else if (typeof values[0] === "function") answer.result = { case: "callable", value: true };
    else answer.result = { case: "value", value: toMessage(tuple(...(values as Value[])), name) };
    return toBinary(GetAttributeResponseSchema, answer);
  }

  #named(indices: readonly number[]) {
    const { members } = this.env;
    const named = indices.length > 0 ? indices : members.keys();
    return [...named].map((index) => {
      const member = members[index];
      if (member === undefined) throw new Fault("INVALID_VALUE", `there is no member ${index}`);
      return member;
    });
  }

  /** One value for all, or a list or tuple with one for each. */
  #setAttribute(body: Uint8Array): Uint8Array {
    const { name, value, force, members } = parseRequest(SetAttributeRequestSchema, body);
    if (value === undefined) throw new Fault("INVALID_VALUE", `${name} is set to nothing`);
    const asked = this.#named(members);
    const given = received(value);
    const each: Value[] = Array.isArray(given) ? given : asked.map(() => given);
    if (each.length !== asked.length)
      throw new Fault("INVALID_VALUE", "there is a value for each member, or one for all");
    const done = asked.map(({ attributes }, index) => attributes.set(name, each[index] as Value, force));
    const set = done.every(Boolean);
    return toBinary(SetAttributeResponseSchema, create(SetAttributeResponseSchema, { set }));
  }

  /** Calls a method of each member; returns their results. */
  async #callMethod(body: Uint8Array): Promise<Uint8Array> {
    const { name, args, kwargs, members } = parseRequest(CallMethodRequestSchema, body);
    const values = args?.values.map((each) => received(each)) ?? [];
    const named = receivedMapping(kwargs);
    const results: Value[] = [];
    for (const { attributes } of this.#named(members))
      results.push(((await attributes.call(name, values, named)) ?? null) as Value);
    const fields = { result: toMessage(tuple(...results), name) };
    return toBinary(CallMethodResponseSchema, create(CallMethodResponseSchema, fields));
  }

  takePart(starts: MemberStarts, position: number): void {
    this.env.takePart(starts, position);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.env.close();
  }
}

const MASK = "reset_mask";

/** Removes the mask of members to reset from the options. */
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
