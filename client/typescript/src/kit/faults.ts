/** The errors of a server's answers, as the contract defines them. */

import { create, toBinary } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import {
  DebugInfoSchema,
  ErrorInfoSchema,
  type ErrorStatus,
  ErrorStatusSchema,
  RemoteExceptionSchema,
} from "../gen/envwire/v1/status_pb.js";
import type { ValueList } from "../gen/envwire/v1/values_pb.js";
import { REASONS } from "../reasons.js";
import { ValueError } from "../values/encoding.js";
import { toListMessage } from "../values/messages.js";
import type { Value } from "../values/types.js";
import type { Answer } from "../wire/envelope.js";

export type Reason = keyof typeof REASONS;

/** Why a request fails. */
export class Fault extends Error {
  override name = "Fault";

  /** @param raised The exception of the environment. */
  constructor(
    readonly reason: Reason,
    message: string,
    readonly metadata: Readonly<Record<string, string>> = {},
    readonly raised?: Error,
  ) {
    super(message);
  }

  get code(): number {
    return REASONS[this.reason].code;
  }
}

/** Returns the fault for an exception that was thrown while a request was served. */
export function faultOf(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown;
  if (thrown instanceof ValueError)
    return new Fault("UNSUPPORTED", `the environment returned what cannot be sent: ${thrown.message}`);
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  return new Fault("ENVIRONMENT_RAISED", `${error.name}: ${error.message}`, {}, error);
}

const URL = "type.googleapis.com/";
/** The details of a unary call's error are sent in a header, so they have to be small. */
const MAX_TEXT = 1_000;

export function statusOf({ code, reason, message, metadata, raised }: Fault): ErrorStatus {
  const info = create(ErrorInfoSchema, { reason, domain: "envwire", metadata });
  const details = [packed("google.rpc.ErrorInfo", toBinary(ErrorInfoSchema, info))];
  if (raised !== undefined) {
    const stackEntries = (raised.stack ?? "")
      .split("\n")
      .slice(1, 11)
      .map((line) => line.trim().slice(0, 200));
    const remote = { typeName: raised.name, text: raised.message.slice(0, MAX_TEXT), ...argsOf(raised) };
    details.push(
      packed("google.rpc.DebugInfo", toBinary(DebugInfoSchema, create(DebugInfoSchema, { stackEntries }))),
      packed(
        "envwire.v1.RemoteException",
        toBinary(RemoteExceptionSchema, create(RemoteExceptionSchema, remote)),
      ),
    );
  }
  return create(ErrorStatusSchema, { code, message: message.slice(0, MAX_TEXT), details });
}

/** Returns the `args` of an error that has some, as exceptions of Python do, where they have a wire form. */
function argsOf(raised: Error): { args?: ValueList } {
  const { args } = raised as { args?: readonly Value[] };
  try {
    return Array.isArray(args) ? { args: toListMessage(args, "args") } : {};
  } catch {
    return {};
  }
}

function packed(name: string, value: Uint8Array) {
  return create(AnySchema, { typeUrl: URL + name, value });
}

export function errorAnswer(fault: Fault): Answer {
  return { kind: "error", body: toBinary(ErrorStatusSchema, statusOf(fault)) };
}
