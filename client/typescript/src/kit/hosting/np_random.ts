/** The environment's generator as clients mirror it. */

import { create, toBinary } from "@bufbuild/protobuf";
import { type RandomMirror, RandomMirrorSchema } from "../../gen/envwire/v1/environment_pb.js";
import type { RandomState } from "../../gen/envwire/v1/spaces_pb.js";
import { Generator } from "../../random/generator.js";
import { toMessage } from "../../values/messages.js";
import type { Dict } from "../../values/types.js";
import { Fault } from "../faults.js";
import { reading } from "../request_fields.js";
import { received } from "./received.js";

/** The generator of a session, the same object from reset to reset. */
export class NpRandom {
  readonly generator: Generator;
  #seed: bigint | undefined;

  constructor() {
    this.generator = new Generator();
  }

  /** Starts the generator anew, as Gymnasium does at a reset with a seed. */
  seed(seed: bigint): void {
    this.generator.bits.state = new Generator(seed).bits.state;
    this.#seed = seed;
  }

  /** Ensures that the generator has a known seed. */
  create(): void {
    if (this.#seed === undefined) this.#seed = this.generator.seed;
  }

  restore(message: RandomState): void {
    const state = message.state === undefined ? undefined : (received(message.state) as Dict);
    const inner = state?.["state"] as Dict | undefined;
    if (message.bitGenerator !== "PCG64" || state === undefined || inner === undefined)
      throw new Fault("UNSUPPORTED", `this server's generators are PCG64, not ${message.bitGenerator}`);
    this.generator.bits.state = reading(
      () => ({
        state: BigInt(inner["state"] as bigint),
        inc: BigInt(inner["inc"] as bigint),
        hasUint32: Boolean(state["has_uint32"]),
        uinteger: Number(state["uinteger"]),
      }),
      "INVALID_VALUE",
    );
  }

  /** The state, if there is one. */
  mirror(): RandomMirror {
    if (this.#seed === undefined) return create(RandomMirrorSchema);
    const { state, inc, hasUint32, uinteger } = this.generator.bits.state;
    const dict = { bit_generator: "PCG64", state: { state, inc }, has_uint32: hasUint32 ? 1 : 0, uinteger };
    const npRandom = { bitGenerator: "PCG64", state: toMessage(dict) };
    return create(RandomMirrorSchema, { npRandom, npRandomSeed: toMessage(this.#seed) });
  }

  mirrorBytes(): Uint8Array {
    return toBinary(RandomMirrorSchema, this.mirror());
  }
}
