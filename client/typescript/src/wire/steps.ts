/** Reads and writes resets and steps without building messages, because they take nearly all of the time. */

import { MalformedMessageError } from "../errors.js";
import { Context, readMapping, readValue } from "../values/decoding.js";
import { writeMapping, writeValue, writeValues } from "../values/encoding.js";
import type { Mapping, Value } from "../values/types.js";
import { Reader } from "./reader.js";
import type { Writer } from "./writer.js";

/** A warning that the environment gave. */
export interface Warning {
  readonly category: string;
  readonly text: string;
}

/** StepRequest: one action, or a chunk of them. */
export function writeStepRequest(writer: Writer, sequence: number, action: Value): Uint8Array {
  writeValue(writer, 3, action, "action");
  writer.number(2, sequence);
  return writer.take();
}

export function writeChunkRequest(writer: Writer, sequence: number, actions: readonly Value[]): Uint8Array {
  writeValues(writer, 6, actions, "actions");
  writer.number(2, sequence);
  return writer.take();
}

/** StepResponse. `steps` and `error` (an ErrorStatus) are those of a chunk. */
export interface StepAnswer {
  observation: Value | undefined;
  reward: number;
  terminated: boolean;
  truncated: boolean;
  info: Mapping;
  typedReward?: Value;
  typedTerminated?: Value;
  typedTruncated?: Value;
  warnings: Warning[];
  steps: StepAnswer[];
  error?: Uint8Array;
}

export function readStepAnswer(body: Uint8Array, attachments?: Uint8Array): StepAnswer {
  return readStep(new Reader(body), new Context(attachments));
}

const NO_INFO: Mapping = Object.freeze({});

function readStep(reader: Reader, context: Context): StepAnswer {
  const answer: StepAnswer = {
    observation: undefined,
    reward: 0,
    terminated: false,
    truncated: false,
    info: NO_INFO,
    warnings: [],
    steps: [],
  };
  while (reader.more) readStepField(reader, context, answer);
  if (answer.info === NO_INFO) answer.info = {};
  return answer;
}

function readStepField(reader: Reader, context: Context, answer: StepAnswer): void {
  const tag = reader.varint();
  switch (tag) {
    case 0x0a:
      answer.observation = readValue(reader, context);
      return;
    case 0x11:
      answer.reward = reader.double();
      return;
    case 0x18:
      answer.terminated = reader.varint() !== 0;
      return;
    case 0x20:
      answer.truncated = reader.varint() !== 0;
      return;
    case 0x2a:
      answer.info = readMapping(reader, context);
      return;
    case 0x32:
      answer.typedReward = readValue(reader, context);
      return;
    case 0x3a:
      answer.typedTerminated = readValue(reader, context);
      return;
    case 0x42:
      answer.typedTruncated = readValue(reader, context);
      return;
    case 0x4a:
      answer.warnings.push(readWarning(reader));
      return;
    case 0x5a:
      answer.steps.push(readMember(reader, context));
      return;
    case 0x62:
      answer.error = reader.delimited();
      return;
    default:
      reader.skip(tag);
  }
}

function readMember(reader: Reader, context: Context): StepAnswer {
  const outer = reader.enter();
  const step = readStep(reader, context);
  reader.leave(outer);
  return step;
}

export function readWarning(reader: Reader): Warning {
  const warning = { category: "", text: "" };
  const outer = reader.enter();
  while (reader.more) {
    const tag = reader.varint();
    if (tag === 0x0a) warning.category = reader.text();
    else if (tag === 0x12) warning.text = reader.text();
    else reader.skip(tag);
  }
  reader.leave(outer);
  return warning;
}

/** ResetResponse. */
export interface ResetAnswer {
  observation: Value;
  info: Mapping;
  warnings: Warning[];
  /** Spaces, serialised; absent for one with which the environment was made. */
  observationSpace?: Uint8Array;
  actionSpace?: Uint8Array;
}

export function readResetAnswer(body: Uint8Array, attachments?: Uint8Array): ResetAnswer {
  const reader = new Reader(body);
  const context = new Context(attachments);
  const warnings: Warning[] = [];
  let observation: Value | undefined;
  let info: Mapping = {};
  const spaces: Pick<ResetAnswer, "observationSpace" | "actionSpace"> = {};
  while (reader.more) {
    const tag = reader.varint();
    if (tag === 0x0a) observation = readValue(reader, context);
    else if (tag === 0x12) info = readMapping(reader, context);
    else if (tag === 0x1a) warnings.push(readWarning(reader));
    else if (tag === 0x32) spaces.observationSpace = reader.delimited();
    else if (tag === 0x3a) spaces.actionSpace = reader.delimited();
    else reader.skip(tag);
  }
  if (observation === undefined)
    throw new MalformedMessageError("the answer to a reset lacks its observation");
  return { observation, info, warnings, ...spaces };
}

/** What a server answers to a step. */
export interface StepParts {
  observation: Value;
  reward: number;
  terminated: boolean;
  truncated: boolean;
  info: Mapping;
  /** Of a vector environment: arrays with one element for each member. */
  typedReward?: Value;
  typedTerminated?: Value;
  typedTruncated?: Value;
  warnings?: readonly Warning[];
  /** A RandomMirror, serialised; absent when it was not asked for. */
  random?: Uint8Array | undefined;
  /** MemberResets, serialised. */
  memberResets?: readonly Uint8Array[];
}

/** Writes a StepResponse; the members of a chunk are handed over as they were written by this. */
export function writeStepResponse(writer: Writer, step: StepParts): Uint8Array {
  writeRepeated(writer, 13, step.memberResets);
  if (step.random !== undefined) writer.bytes(10, step.random);
  if (step.warnings !== undefined) writeWarnings(writer, 9, step.warnings);
  if (step.typedTruncated !== undefined) writeValue(writer, 8, step.typedTruncated, "truncated");
  if (step.typedTerminated !== undefined) writeValue(writer, 7, step.typedTerminated, "terminated");
  if (step.typedReward !== undefined) writeValue(writer, 6, step.typedReward, "reward");
  writeMapping(writer, 5, step.info, "info");
  if (step.truncated) writer.number(4, 1);
  if (step.terminated) writer.number(3, 1);
  if (!Object.is(step.reward, 0)) writer.double(2, step.reward);
  writeValue(writer, 1, step.observation, "observation");
  return writer.take();
}

function writeWarnings(writer: Writer, field: number, warnings: readonly Warning[]): void {
  for (let index = warnings.length - 1; index >= 0; index--) {
    const { category, text } = warnings[index] as Warning;
    const mark = writer.length;
    writer.text(2, text);
    writer.text(1, category);
    writer.message(field, mark);
  }
}

/** Writes the StepResponse of a chunk. */
export function writeChunkResponse(
  writer: Writer,
  steps: readonly Uint8Array[],
  error?: Uint8Array,
): Uint8Array {
  if (error !== undefined) writer.bytes(12, error);
  writeRepeated(writer, 11, steps);
  return writer.take();
}

function writeRepeated(writer: Writer, field: number, messages: readonly Uint8Array[] = []): void {
  for (let index = messages.length - 1; index >= 0; index--)
    writer.bytes(field, messages[index] as Uint8Array);
}

/** Writes a ResetResponse. */
export function writeResetResponse(
  writer: Writer,
  observation: Value,
  info: Mapping,
  { random, memberResets }: Pick<StepParts, "random" | "memberResets"> = {},
): Uint8Array {
  writeRepeated(writer, 5, memberResets);
  if (random !== undefined) writer.bytes(4, random);
  writeMapping(writer, 2, info, "info");
  writeValue(writer, 1, observation, "observation");
  return writer.take();
}
