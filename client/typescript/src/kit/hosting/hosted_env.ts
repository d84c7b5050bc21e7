/** One environment, with the requests that clients can send to it. No I/O and no numbering happens here. */

import { create, toBinary } from "@bufbuild/protobuf";
import {
  CallMethodRequestSchema,
  CallMethodResponseSchema,
  CloseResponseSchema,
  GetAttributeRequestSchema,
  GetAttributeResponseSchema,
  type MemberStart,
  RenderResponseSchema,
  type ResetRequest,
  ResetRequestSchema,
  RestoreStateRequestSchema,
  RestoreStateResponseSchema,
  SaveStateResponseSchema,
  SetAttributeRequestSchema,
  SetAttributeResponseSchema,
  type StepRequest,
  StepRequestSchema,
} from "../../gen/envwire/v1/environment_pb.js";
import { ErrorStatusSchema } from "../../gen/envwire/v1/status_pb.js";
import type { ValueMap, Value as ValueMessage } from "../../gen/envwire/v1/values_pb.js";
import type { Generator } from "../../random/generator.js";
import { toMessage } from "../../values/messages.js";
import type { Mapping, Value } from "../../values/types.js";
import type { Kind } from "../../wire/kinds.js";
import { writeChunkResponse, writeResetResponse, writeStepResponse } from "../../wire/steps.js";
import type { Described, Environment, Transition } from "../environment.js";
import { Fault, faultOf, statusOf } from "../faults.js";
import { parseRequest } from "../request_fields.js";
import { checkAction, invalidAction, plainAction } from "./actions.js";
import { Attributes, missing } from "./attributes.js";
import { NpRandom } from "./np_random.js";
import { received, receivedMapping } from "./received.js";
import { SavedStates } from "./saved_states.js";
import { endsEpisode, stepParts } from "./step_results.js";
import { written, writtenWith } from "./writing.js";

/** Actions that one request may hold. */
const MAX_CHUNK = 1024;
const GENERATORS = new Set(["np_random", "_np_random"]);

/** Where members of a vector environment begin in a recording, by their indices. */
export type MemberStarts = ReadonlyMap<number, MemberStart>;

/** The environment or vector environment of a session. */
export interface Hosted {
  readonly env: Described;
  /** Optional features of the session. */
  readonly capabilities: string[];
  /** Steps that it took, those of chunks each. */
  readonly steps: number;
  /** Serves a request and returns the body of its answer. */
  serve(kind: Kind, body: Uint8Array): Uint8Array | Promise<Uint8Array>;
  /**
   * Says, before a request of a recording at this position, which members of a vector environment take part in it:
   * those that begin later are left out, and those that begin here are reset by it.
   */
  takePart(starts: MemberStarts, position: number): void;
  /** Closes the environment, once. */
  close(): Promise<void>;
}

export class HostedEnv implements Hosted {
  steps = 0;
  #started = false;
  #closed = false;
  readonly #random = new NpRandom();
  readonly #states = new SavedStates<HostedState>();
  readonly #attributes: Attributes;

  constructor(
    readonly env: Environment,
    renderMode: string | undefined,
  ) {
    this.#attributes = new Attributes(env, renderMode);
  }

  get capabilities(): string[] {
    return hasState(this.env) ? ["chunk", "replay", "save_state"] : ["chunk", "replay"];
  }

  serve(kind: Kind, body: Uint8Array): Uint8Array | Promise<Uint8Array> {
    const serve = this.#kinds[kind];
    if (serve === undefined) throw new Fault("UNSUPPORTED", `this server does not have ${kind}`);
    return serve(body);
  }

  readonly #kinds: Partial<Record<Kind, (body: Uint8Array) => Uint8Array | Promise<Uint8Array>>> = {
    reset: (body) => this.#reset(parseRequest(ResetRequestSchema, body)),
    step: (body) => this.#step(parseRequest(StepRequestSchema, body)),
    render: () => this.#render(),
    getAttribute: (body) => this.#getAttribute(body),
    setAttribute: (body) => this.#setAttribute(body),
    callMethod: (body) => this.#callMethod(body),
    saveState: () => this.#saveState(),
    restoreState: (body) => this.#restoreState(body),
    close: () => this.#closeBody(),
  };

  async #reset({ seed, options, npRandom, mirrorNpRandom }: ResetRequest): Promise<Uint8Array> {
    if (npRandom !== undefined) this.#random.restore(npRandom);
    if (seed !== undefined) this.#random.seed(seedOf(received(seed)));
    else this.#random.create();
    const context = { random: this.#random.generator, options: options && this.#mapping(options) };
    const { observation, info = {} } = await this.env.reset(context);
    this.#started = true;
    const random = mirrorNpRandom ? this.#random.mirrorBytes() : undefined;
    return writtenWith(info, (writer, each) => writeResetResponse(writer, observation, each, { random }));
  }

  #value(message: ValueMessage): Value {
    return received(message, this.env.exact);
  }

  #mapping(message: ValueMap): Mapping {
    return receivedMapping(message, this.env.exact);
  }

  #step({ action, actions, npRandom, mirrorNpRandom }: StepRequest): Uint8Array | Promise<Uint8Array> {
    if (npRandom !== undefined) this.#random.restore(npRandom);
    if (actions.length > 0) {
      if (action !== undefined || actions.length > MAX_CHUNK)
        throw new Fault("INVALID_VALUE", `a step has one action, or a chunk of at most ${MAX_CHUNK}`);
      return this.#chunk(actions.map((each) => this.#value(each)));
    }
    if (action === undefined) throw new Fault("INVALID_VALUE", "a step has an action");
    const transition = this.#transition(this.#value(action));
    if (transition instanceof Promise) return transition.then((each) => this.#stepBody(each, mirrorNpRandom));
    return this.#stepBody(transition, mirrorNpRandom);
  }

  /** Takes one step, if the environment is ready for it and the action is one of its actions. */
  #transition(action: Value): Transition | Promise<Transition> {
    this.steps += 1;
    if (this.env.checked === false) return this.#unchecked(action);
    if (!this.#started) throw new Fault("RESET_NEEDED", "call reset before the first step");
    checkAction(this.env.actionSpace, action);
    return this.env.step(plainAction(this.env.actionSpace, action));
  }

  /** Takes one step; the action is invalid if the environment throws and its space does not contain the action. */
  async #unchecked(action: Value): Promise<Transition> {
    try {
      return await this.env.step(action);
    } catch (thrown) {
      if (this.env.actionSpace.contains(action)) throw thrown;
      const { message, raised } = faultOf(thrown);
      throw new Fault("INVALID_ACTION", message, invalidAction(this.env.actionSpace, action), raised);
    }
  }

  #stepBody(transition: Transition, mirror: boolean): Uint8Array {
    const parts = stepParts(transition, mirror ? this.#random.mirrorBytes() : undefined);
    return writtenWith(parts.info, (writer, info) => writeStepResponse(writer, { ...parts, info }));
  }

  /** Takes one step after another, until the episode ends or one fails. When the first fails, that is the answer. */
  async #chunk(actions: readonly Value[]): Promise<Uint8Array> {
    const steps: Uint8Array[] = [];
    for (const action of actions) {
      try {
        const transition = await this.#transition(action);
        steps.push(this.#stepBody(transition, false));
        if (endsEpisode(transition)) break;
      } catch (thrown) {
        if (steps.length === 0) throw thrown;
        const error = toBinary(ErrorStatusSchema, statusOf(faultOf(thrown)));
        return written((writer) => writeChunkResponse(writer, steps, error));
      }
    }
    return written((writer) => writeChunkResponse(writer, steps));
  }

  async #render(): Promise<Uint8Array> {
    const frame = toMessage((await this.env.render?.()) ?? null, "frame");
    return toBinary(RenderResponseSchema, create(RenderResponseSchema, { frame }));
  }

  #getAttribute(body: Uint8Array): Uint8Array {
    const { name, probe } = parseRequest(GetAttributeRequestSchema, body);
    const answer = create(GetAttributeResponseSchema);
    if (GENERATORS.has(name)) {
      if (name === "np_random" && !probe) this.#random.create();
      answer.exists = true;
      if (!probe) answer.random = this.#random.mirror();
    } else {
      const value = this.#attributes.get(name);
      if (value === undefined && !probe) throw missing(name);
      answer.exists = value !== undefined;
      if (probe) return toBinary(GetAttributeResponseSchema, answer);
      if (typeof value === "function") answer.result = { case: "callable", value: true };
      else answer.result = { case: "value", value: toMessage(value as Value, name) };
    }
    return toBinary(GetAttributeResponseSchema, answer);
  }

  #setAttribute(body: Uint8Array): Uint8Array {
    const { name, value, force } = parseRequest(SetAttributeRequestSchema, body);
    if (value === undefined) throw new Fault("INVALID_VALUE", `${name} is set to nothing`);
    const set = this.#attributes.set(name, this.#value(value), force);
    return toBinary(SetAttributeResponseSchema, create(SetAttributeResponseSchema, { set }));
  }

  async #callMethod(body: Uint8Array): Promise<Uint8Array> {
    const { name, args, kwargs } = parseRequest(CallMethodRequestSchema, body);
    const values = args?.values.map((each) => this.#value(each)) ?? [];
    const result = await this.#attributes.call(
      name,
      values,
      kwargs === undefined ? {} : this.#mapping(kwargs),
    );
    return toBinary(
      CallMethodResponseSchema,
      create(CallMethodResponseSchema, { result: toMessage((result ?? null) as Value, name) }),
    );
  }

  #saveState(): Uint8Array {
    if (!hasState(this.env)) throw stateless();
    const state = this.#states.save({
      own: this.env.getState(),
      bits: this.#random.generator.bits.state,
      started: this.#started,
    });
    return toBinary(SaveStateResponseSchema, create(SaveStateResponseSchema, { state: BigInt(state) }));
  }

  #restoreState(body: Uint8Array): Uint8Array {
    if (!hasState(this.env)) throw stateless();
    const { state } = parseRequest(RestoreStateRequestSchema, body);
    const { own, bits, started } = this.#states.find(Number(state));
    this.env.setState(own);
    this.#random.generator.bits.state = bits;
    this.#started = started;
    return toBinary(RestoreStateResponseSchema, create(RestoreStateResponseSchema));
  }

  takePart(starts: MemberStarts): void {
    if (starts.size > 0) throw new Fault("INVALID_VALUE", "only members of a vector environment begin later");
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.env.close?.();
  }

  async #closeBody(): Promise<Uint8Array> {
    await this.close();
    return toBinary(CloseResponseSchema, create(CloseResponseSchema));
  }
}

/** A saved state. */
interface HostedState {
  own: unknown;
  bits: Generator["bits"]["state"];
  started: boolean;
}

function hasState(
  env: Environment,
): env is Environment & Required<Pick<Environment, "getState" | "setState">> {
  return env.getState !== undefined && env.setState !== undefined;
}

function stateless(): Fault {
  return new Fault("UNSUPPORTED", "the environment does not offer its state");
}

/** Returns a seed as Gymnasium takes it. */
export function seedOf(value: Value): bigint {
  const seed = typeof value === "number" && Number.isInteger(value) ? BigInt(value) : value;
  if (typeof seed !== "bigint" || seed < 0n)
    throw new Fault("INVALID_VALUE", "a seed is a non-negative integer");
  return seed;
}
