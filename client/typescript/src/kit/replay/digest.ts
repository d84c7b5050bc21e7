/** The digest of the answers to a recording, by which a client checks that this environment equals the lost one. */

import { fromBinary, isMessage, toBinary } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { blake2b } from "@noble/hashes/blake2.js";
import { errorFromStatus } from "../../errors.js";
import {
  type InteractResponse,
  InteractResponseSchema,
  type ResetResponse,
  type StepResponse,
} from "../../gen/envwire/v1/environment_pb.js";
import { OpaqueSchema, TensorSchema } from "../../gen/envwire/v1/values_pb.js";
import { type Answer, wrap } from "../../wire/envelope.js";

const DIGEST_BYTES = 16;
const CHECKPOINT = 64;
const LARGE = 4096;
/** Entry in which wrappers report the duration of an episode. */
const TIMED = "episode";
const NOTHING = new Uint8Array(0);

export class RollingDigest {
  /** How many requests there were. */
  count = 0;
  /** The digest after every 64th of them. */
  readonly checkpoints: Uint8Array[] = [];
  readonly #hash = blake2b.create({ dkLen: DIGEST_BYTES });

  /** Adds the answer to the next request; none for an unseen answer. */
  add(answer: Answer | undefined): void {
    if (answer !== undefined) this.#update(digested(answer));
    if (++this.count % CHECKPOINT === 0) this.checkpoints.push(this.value());
  }

  #update(parts: Uint8Array[]): void {
    const length = new DataView(new ArrayBuffer(8));
    length.setBigUint64(0, BigInt(parts[0]?.length ?? 0), true);
    this.#hash.update(new Uint8Array(length.buffer));
    for (const part of parts) this.#hash.update(part);
  }

  value(): Uint8Array {
    return this.#hash.clone().digest();
  }
}

/** Returns the parts of an answer that count: a message, and the elements of its large tensors. */
function digested({ kind, body }: Answer): Uint8Array[] {
  if (kind === "error") return [Buffer.from(errorFromStatus(body).reason, "ascii")];
  const response = fromBinary(InteractResponseSchema, wrap(kind, NOTHING, body));
  leaveOut(response);
  const elements: Uint8Array[] = [];
  neutralise(reflect(InteractResponseSchema, response), elements);
  return [toBinary(InteractResponseSchema, response), ...elements];
}

/** Removes values that may differ between two runs of the same environment. */
function leaveOut({ response }: InteractResponse): void {
  if (response.value !== undefined && "warnings" in response.value) response.value.warnings = [];
  if (response.case === "reset" || response.case === "step") leaveOutTimesAndSeed(response.value);
}

function leaveOutTimesAndSeed({ info, random }: ResetResponse | StepResponse): void {
  if (random !== undefined) delete random.npRandomSeed;
  if (info !== undefined) info.entries = info.entries.filter(({ key }) => key.value !== TIMED);
}

/** Extracts the elements of large tensors, and removes the text of opaque values. */
function neutralise(reflected: ReflectMessage, elements: Uint8Array[]): void {
  const { message } = reflected;
  if (isMessage(message, OpaqueSchema)) message.text = "";
  if (isMessage(message, TensorSchema) && message.data.length >= LARGE) {
    elements.push(message.data);
    message.data = NOTHING;
  }
  for (const field of reflected.sortedFields) {
    if (!reflected.isSet(field)) continue;
    if (field.fieldKind === "message") neutralise(reflected.get(field), elements);
    else if (field.fieldKind === "list" && field.listKind === "message")
      for (const each of reflected.get(field)) neutralise(each as ReflectMessage, elements);
  }
}
