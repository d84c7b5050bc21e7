/** What a server reads of a request before anything else: whose it is, and its number. */

import { fromBinary } from "@bufbuild/protobuf";
import { type SessionHeader, SessionHeaderSchema } from "../gen/envwire/v1/environment_pb.js";
import { Reader } from "../wire/reader.js";
import { Fault } from "./faults.js";

const HEADER = 0x0a;
const SEQUENCE = 0x10;

/** A request without its header; requests are compared by these bytes. */
export interface Headed {
  readonly header: SessionHeader | undefined;
  readonly body: Uint8Array;
}

/** Takes the header out of a request; it is field 1 of all of them, and most often the first. */
export function takeHeader(request: Uint8Array): Headed {
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
