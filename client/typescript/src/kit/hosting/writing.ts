/** Answers, written from what an environment returned. */

import { ValueError } from "../../values/encoding.js";
import type { Mapping } from "../../values/types.js";
import { Writer } from "../../wire/writer.js";
import { Fault } from "../faults.js";
import { withOpaques } from "./opaque.js";

const writer = new Writer();

/** Writes an answer that has an info; what has no wire form there travels as `Opaque`. */
export function writtenWith(info: Mapping, write: (writer: Writer, info: Mapping) => Uint8Array): Uint8Array {
  try {
    return write(writer, info);
  } catch {
    writer.clear();
    return written((again) => write(again, withOpaques(info)));
  }
}

/** Writes with the writer of all environments, which is left empty whatever happens. */
export function written(write: (writer: Writer) => Uint8Array): Uint8Array {
  try {
    return write(writer);
  } catch (error) {
    writer.clear();
    if (!(error instanceof ValueError)) throw error;
    throw new Fault("UNSUPPORTED", `the environment returned what cannot be sent: ${error.message}`);
  }
}
