/** The error class of this package, and reading it from a server's answer. */

import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import {
  DebugInfoSchema,
  ErrorInfoSchema,
  type ErrorStatus,
  ErrorStatusSchema,
  RemoteExceptionSchema,
  RetryInfoSchema,
} from "./gen/envwire/v1/status_pb.js";
import { REASONS } from "./reasons.js";

/** Status codes of gRPC, by number. */
export const STATUS_NAMES = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
] as const;

/** Returns whether a session is gone for good after an error with this reason. */
export function endsSession(reason: string): boolean {
  return Object.hasOwn(REASONS, reason) && REASONS[reason as keyof typeof REASONS].endsSession;
}

/** The exception that the environment raised. */
export interface RemoteException {
  /** Qualified name of its class, such as "builtins.ValueError". */
  readonly typeName: string;
  readonly text: string;
}

export interface EnvwireErrorDetails {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly retryAfter?: number | undefined;
  readonly remote?: RemoteException | undefined;
  readonly traceback?: readonly string[];
  readonly output?: string;
  readonly cause?: unknown;
}

/** An error of the client, the connection, the server or the environment; `reason` says which. */
export class EnvwireError extends Error {
  override name = "EnvwireError";
  /** Facts by name, such as "session_id". */
  readonly metadata: Readonly<Record<string, string>>;
  /** Seconds to wait before another attempt, if the server gave them. */
  readonly retryAfter: number | undefined;
  /** The exception that the environment raised, if it did. */
  readonly remote: RemoteException | undefined;
  /** The remote traceback, innermost call last. */
  readonly traceback: readonly string[];
  /** The last output of the environment's process, if it was lost. */
  readonly output: string;

  /**
   * @param reason A reason of docs/protocol.md, such as "SESSION_LOST", or if the server gave none, the name of
   *   the gRPC status: "UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED".
   */
  constructor(
    readonly reason: string,
    message: string,
    details: EnvwireErrorDetails = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.metadata = details.metadata ?? {};
    this.retryAfter = details.retryAfter;
    this.remote = details.remote;
    this.traceback = details.traceback ?? [];
    this.output = details.output ?? "";
  }
}

/** A message of a peer cannot be read, or breaks the protocol. */
export class MalformedMessageError extends EnvwireError {
  override name = "EnvwireError";
  constructor(problem: string, cause?: unknown) {
    super("INTERNAL", problem, { cause });
  }
}

/** Reads a server's message. Any exception, also of generated code and constructors of arrays, counts as its fault. */
export function readAnswer<T>(read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof EnvwireError && !(thrown instanceof MalformedMessageError)) throw thrown;
    const problem = thrown instanceof Error ? thrown.message : String(thrown);
    throw new MalformedMessageError(`an answer of the server breaks the protocol: ${problem}`, thrown);
  }
}

/** Reads a message that a server sent. */
export function parseAnswer<Schema extends DescMessage>(
  schema: Schema,
  bytes: Uint8Array,
): MessageShape<Schema> {
  return readAnswer(() => fromBinary(schema, bytes));
}

const URL = "type.googleapis.com/";

/** Reads an error from a serialised ErrorStatus (google.rpc.Status). */
export function errorFromStatus(bytes: Uint8Array): EnvwireError {
  return readAnswer(() => errorFrom(fromBinary(ErrorStatusSchema, bytes)));
}

export function errorFrom(status: ErrorStatus): EnvwireError {
  const detail = (name: string) => status.details.find(({ typeUrl }) => typeUrl === URL + name)?.value;
  const info = read(ErrorInfoSchema, detail("google.rpc.ErrorInfo"));
  const debug = read(DebugInfoSchema, detail("google.rpc.DebugInfo"));
  const retry = read(RetryInfoSchema, detail("google.rpc.RetryInfo"))?.retryDelay;
  const remote = read(RemoteExceptionSchema, detail("envwire.v1.RemoteException"));
  const reason = info?.domain === "envwire" ? info.reason : (STATUS_NAMES[status.code] ?? "UNKNOWN");
  return new EnvwireError(reason, status.message || reason, {
    metadata: info?.metadata ?? {},
    retryAfter: retry && Number(retry.seconds) + retry.nanos / 1e9,
    remote: remote && { typeName: remote.typeName, text: remote.text },
    traceback: debug?.stackEntries ?? [],
    output: debug?.detail ?? "",
  });
}

function read<Schema extends Parameters<typeof fromBinary>[0]>(
  schema: Schema,
  bytes: Uint8Array | undefined,
) {
  return bytes === undefined ? undefined : fromBinary(schema, bytes);
}

/** The connection broke or could not be opened: the request may be sent again. */
export class ConnectionError extends EnvwireError {
  override name = "EnvwireError";
  /**
   * @param refused The address refuses connections.
   * @param connected A connection had been open.
   */
  constructor(
    message: string,
    readonly refused: boolean,
    readonly connected: boolean,
    cause?: unknown,
  ) {
    super("UNAVAILABLE", message, { cause });
  }
}
