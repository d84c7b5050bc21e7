/** Values of clients, as a server reads them. */

import type { ValueMap, Value as ValueMessage } from "../../gen/envwire/v1/values_pb.js";
import { fromMapMessage, fromMessage } from "../../values/messages.js";
import type { Mapping, Value } from "../../values/types.js";
import { Fault } from "../faults.js";

/** @param exact Whether integers become bigint and floats `Float`. */
export function received(message: ValueMessage, exact = false): Value {
  return refusing(() => fromMessage(message, undefined, { strict: true, exact }));
}

export function receivedMapping(message: ValueMap | undefined, exact = false): Mapping {
  return refusing(() => fromMapMessage(message, { strict: true, exact }));
}

function refusing<T>(read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    throw new Fault("INVALID_VALUE", thrown instanceof Error ? thrown.message : String(thrown));
  }
}
