/** Reads the parts of a request: its session, its number, and its message. */

import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { type SessionHeader, SessionHeaderSchema } from "../gen/envwire/v1/environment_pb.js";
import { Reader } from "../wire/reader.js";
import { Fault, type Reason } from "./faults.js";

const HEADER = 0x0a;
const SEQUENCE = 0x10;

/** Reads a client's message: any exception becomes a fault with this reason. */
export function reading<T>(read: () => T, reason: Reason = "MALFORMED_REQUEST"): T {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof Fault) throw thrown;
    const problem = thrown instanceof Error ? thrown.message : String(thrown);
    throw new Fault(reason, `the request cannot be read: ${problem}`);
  }
}

/** Reads the message of a request. */
export function parseRequest<Schema extends DescMessage>(
  schema: Schema,
  body: Uint8Array,
): MessageShape<Schema> {
  return reading(() => fromBinary(schema, body));
}

/** A request without its header; requests are compared by these bytes. */
export interface Headed {
  readonly header: SessionHeader | undefined;
  readonly body: Uint8Array;
}

/** Removes the header from a request; it is field 1 of all requests, and usually comes first. */
export function takeHeader(request: Uint8Array): Headed {
  return reading(() => split(request));
}

function split(request: Uint8Array): Headed {
  const parts: Uint8Array[] = [];
  let header: SessionHeader | undefined;
  const reader = readerOf(request);
  while (reader.more) {
    const start = reader.position;
    const tag = reader.varint();
    if (tag === HEADER) header = fromBinary(SessionHeaderSchema, reader.delimited());
    else {
      reader.skip(tag);
      parts.push(request.subarray(start, reader.position));
    }
  }
  return { header, body: Buffer.concat(parts) };
}

/** Returns the number of a request. */
export function sequenceOf(body: Uint8Array): number {
  return reading(() => numberOf(body));
}

function numberOf(body: Uint8Array): number {
  let sequence = 0;
  const reader = readerOf(body);
  while (reader.more) {
    const tag = reader.varint();
    if (tag === SEQUENCE) sequence = reader.varint();
    else if (tag === HEADER)
      throw new Fault("MALFORMED_REQUEST", "a request on a direct channel has no header");
    else reader.skip(tag);
  }
  return sequence;
}

function readerOf(request: Uint8Array): Reader {
  return new Reader(new Uint8Array(request.buffer, request.byteOffset, request.byteLength));
}

/** Returns milliseconds as a Duration. */
export function duration(milliseconds: number) {
  const seconds = Math.floor(milliseconds / 1000);
  return { seconds: BigInt(seconds), nanos: Math.round((milliseconds - 1000 * seconds) * 1e6) };
}
