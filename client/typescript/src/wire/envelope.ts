/** InteractRequest and InteractResponse: one request, or one answer, in the field that tells its kind. */

import { ConnectionError, MalformedMessageError, readAnswer } from "../errors.js";
import { fieldOf, type Kind, kindOf } from "./kinds.js";
import { DELIMITED, Reader } from "./reader.js";
import { varintSize } from "./writer.js";

/** A request of a session; `body` is the message without its header, which depends on the way that it goes. */
export interface Request {
  readonly kind: Kind;
  readonly body: Uint8Array;
}

/** An answer; `attachments` are arrays that came beside it, on the direct channel. */
export interface Answer {
  readonly kind: Kind | "error";
  readonly body: Uint8Array;
  readonly attachments?: Uint8Array | undefined;
}

/**
 * Returns an envelope.
 *
 * @param header What goes before the body: the SessionHeader as a field, or nothing.
 * @param room Bytes to leave before the envelope, for the header of a frame.
 */
export function wrap(kind: Kind | "error", header: Uint8Array, body: Uint8Array, room = 0): Uint8Array {
  const length = header.length + body.length;
  const message = wrapStart(kind, length, room, length);
  const start = message.length - length;
  message.set(header, start);
  message.set(body, start + header.length);
  return message;
}

/**
 * Returns what an envelope begins with, before a content of `length` bytes.
 *
 * @param behind Bytes to leave behind it.
 */
export function wrapStart(kind: Kind | "error", length: number, room = 0, behind = 0): Uint8Array {
  const tag = fieldOf(kind) * 8 + DELIMITED;
  const message = new Uint8Array(room + varintSize(tag) + varintSize(length) + behind);
  putVarint(message, putVarint(message, room, tag), length);
  return message;
}

function putVarint(bytes: Uint8Array, start: number, value: number): number {
  let at = start;
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes[at++] = (rest % 0x80) | 0x80;
  bytes[at++] = rest;
  return at;
}

/** Returns what an envelope holds: the last member of its `oneof`, as protobuf has it; undefined for none. */
export function unwrap(message: Uint8Array): { kind: Kind | "error"; body: Uint8Array } | undefined {
  const reader = new Reader(message);
  let found: { kind: Kind | "error"; body: Uint8Array } | undefined;
  while (reader.more) {
    const tag = reader.varint();
    const kind = (tag & 7) === DELIMITED ? kindOf(tag >>> 3) : undefined;
    if (kind === undefined) reader.skip(tag);
    else found = { kind, body: reader.delimited() };
  }
  return found;
}

/** Returns the answer that an InteractResponse holds. */
export function unwrapAnswer(message: Uint8Array, attachments?: Uint8Array): Answer {
  const found = unwrap(message);
  if (found === undefined) throw new MalformedMessageError("an answer is of no kind that this version knows");
  return { ...found, attachments };
}

/** The same, of a request of this kind: behind the answer to another one, a connection is out of step. */
export function answerTo(asked: Kind, message: Uint8Array, attachments?: Uint8Array): Answer {
  const answer = readAnswer(() => unwrapAnswer(message, attachments));
  if (answer.kind === asked || answer.kind === "error") return answer;
  throw new ConnectionError(`the server answered ${answer.kind} to ${asked}`, false, true);
}
