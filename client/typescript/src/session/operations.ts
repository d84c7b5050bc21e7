/** The requests of a session: how each is written, and how its answer is read. */

import {
  create,
  type DescMessage,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { type EnvwireError, errorFromStatus, MalformedMessageError, parseAnswer } from "../errors.js";
import {
  CallMethodRequestSchema,
  CallMethodResponseSchema,
  CloseRequestSchema,
  GetAttributeRequestSchema,
  GetAttributeResponseSchema,
  RenderRequestSchema,
  RenderResponseSchema,
  ResetRequestSchema,
  RestoreStateRequestSchema,
  SaveStateRequestSchema,
  SaveStateResponseSchema,
  SetAttributeRequestSchema,
  SetAttributeResponseSchema,
} from "../gen/envwire/v1/environment_pb.js";
import { fromMessage, toListMessage, toMapMessage, toMessage } from "../values/messages.js";
import type { Mapping, Value } from "../values/types.js";
import type { Kind } from "../wire/kinds.js";
import {
  type ResetAnswer,
  readResetAnswer,
  readStepAnswer,
  type StepAnswer,
  writeChunkRequest,
  writeStepRequest,
} from "../wire/steps.js";
import { Writer } from "../wire/writer.js";

export interface Operation<Result> {
  readonly kind: Kind;
  /** Returns the body of the request, without a header. */
  write(sequence: number): Uint8Array;
  read(body: Uint8Array, attachments: Uint8Array | undefined): Result;
}

const writer = new Writer();

/** Writes with the shared writer of all operations, which is always left empty. */
function written(write: (writer: Writer) => Uint8Array): Uint8Array {
  try {
    return write(writer);
  } catch (error) {
    writer.clear();
    throw error;
  }
}

export function step(action: Value): Operation<StepAnswer> {
  return {
    kind: "step",
    write: (sequence) => written((writer) => writeStepRequest(writer, sequence, action)),
    read: readStepAnswer,
  };
}

/** The result of a chunk: the steps that were taken, and why the next one failed, if it did. */
export interface ChunkAnswer {
  readonly steps: StepAnswer[];
  readonly error: EnvwireError | undefined;
}

export function stepMany(actions: readonly Value[]): Operation<ChunkAnswer> {
  return {
    kind: "step",
    write: (sequence) => written((writer) => writeChunkRequest(writer, sequence, actions)),
    read: (body, attachments) => {
      const { steps, error } = readStepAnswer(body, attachments);
      if (steps.length > actions.length || (steps.length === 0 && error === undefined))
        throw new MalformedMessageError(`${steps.length} steps were taken of ${actions.length}`);
      return { steps, error: error && errorFromStatus(error) };
    },
  };
}

/** `seed`: of a vector environment a number of which member i gets `seed` + i, or one for each. */
export interface ResetOptions {
  readonly seed?: number | bigint | readonly (number | bigint | null)[] | undefined;
  readonly options?: Mapping | undefined;
}

export function reset({ seed, options }: ResetOptions): Operation<ResetAnswer> {
  const fields: MessageInitShape<typeof ResetRequestSchema> = {};
  if (seed !== undefined) fields.seed = toMessage(seed, "seed");
  if (options !== undefined) fields.options = toMapMessage(options, "options");
  return { ...plain("reset", ResetRequestSchema, fields), read: readResetAnswer };
}

export function render(): Operation<Value> {
  const { kind, write } = plain("render", RenderRequestSchema, {});
  return { kind, write, read: reading(RenderResponseSchema, ({ frame }, area) => present(frame, area)) };
}

/** An attribute: its value, or that it is a method. */
export function getAttribute(name: string): Operation<{ value: Value; callable: boolean }> {
  const { kind, write } = plain("getAttribute", GetAttributeRequestSchema, { name });
  const read = reading(GetAttributeResponseSchema, ({ result }, attachments) => ({
    value: result.case === "value" ? fromMessage(result.value, attachments) : null,
    callable: result.case === "callable",
  }));
  return { kind, write, read };
}

export function hasAttribute(name: string): Operation<boolean> {
  const { kind, write } = plain("getAttribute", GetAttributeRequestSchema, { name, probe: true });
  return { kind, write, read: reading(GetAttributeResponseSchema, ({ exists }) => exists) };
}

export function setAttribute(name: string, value: Value, force: boolean): Operation<boolean> {
  const fields = { name, value: toMessage(value, name), force };
  const { kind, write } = plain("setAttribute", SetAttributeRequestSchema, fields);
  return { kind, write, read: reading(SetAttributeResponseSchema, ({ set }) => set) };
}

export function callMethod(name: string, args: readonly Value[], kwargs: Mapping): Operation<Value> {
  const fields = { name, args: toListMessage(args, "args"), kwargs: toMapMessage(kwargs, "kwargs") };
  const { kind, write } = plain("callMethod", CallMethodRequestSchema, fields);
  return {
    kind,
    write,
    read: reading(CallMethodResponseSchema, ({ result }, area) => present(result, area)),
  };
}

export function saveState(): Operation<bigint> {
  const { kind, write } = plain("saveState", SaveStateRequestSchema, {});
  return { kind, write, read: reading(SaveStateResponseSchema, ({ state }) => state) };
}

export function restoreState(state: bigint): Operation<undefined> {
  return { ...plain("restoreState", RestoreStateRequestSchema, { state }), read: nothing };
}

export function close(): Operation<undefined> {
  return { ...plain("close", CloseRequestSchema, {}), read: nothing };
}

/** The part of an operation that generated code writes. */
function plain<Schema extends DescMessage>(kind: Kind, schema: Schema, fields: MessageInitShape<Schema>) {
  const write = (sequence: number) => {
    const message = create(schema, { ...fields, sequence: BigInt(sequence) } as MessageInitShape<Schema>);
    return toBinary(schema, message);
  };
  return { kind, write };
}

function reading<Schema extends DescMessage, Result>(
  schema: Schema,
  read: (message: MessageShape<Schema>, attachments: Uint8Array | undefined) => Result,
): (body: Uint8Array, attachments: Uint8Array | undefined) => Result {
  return (body, attachments) => read(parseAnswer(schema, body), attachments);
}

function present(
  value: Parameters<typeof fromMessage>[0] | undefined,
  attachments: Uint8Array | undefined,
): Value {
  return value === undefined ? null : fromMessage(value, attachments);
}

function nothing(): undefined {
  return undefined;
}
