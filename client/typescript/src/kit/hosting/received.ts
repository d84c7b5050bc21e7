/** Values of clients, as a server reads them. */

import type { ValueMap, Value as ValueMessage } from "../../gen/envwire/v1/values_pb.js";
import { fromMapMessage, fromMessage } from "../../values/messages.js";
import type { Mapping, Value } from "../../values/types.js";
import { reading } from "../request_fields.js";

/** @param exact Whether integers become bigint and floats `Float`. */
export function received(message: ValueMessage, exact = false): Value {
  return reading(() => fromMessage(message, undefined, { strict: true, exact }), "INVALID_VALUE");
}

export function receivedMapping(message: ValueMap | undefined, exact = false): Mapping {
  return reading(() => fromMapMessage(message, { strict: true, exact }), "INVALID_VALUE");
}
