/** Reads protobuf fields from bytes, without building messages. */

import { MalformedMessageError } from "../errors.js";

const MALFORMED = "these bytes are no protobuf message";
const TEXT = new TextDecoder("utf-8", { fatal: true });

/** Wire types of protobuf. */
export const VARINT = 0;
export const FIXED64 = 1;
export const DELIMITED = 2;
export const FIXED32 = 5;

/** A position in a message. `end` is where the message that is being read ends. */
export class Reader {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  position: number;
  end: number;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.position = 0;
    this.end = bytes.byteLength;
  }

  /** Whether there is another field in the present message. */
  get more(): boolean {
    return this.position < this.end;
  }

  /** Reads an unsigned number; beyond 2^53 it is rounded, see `bigVarint`. */
  varint(): number {
    let byte = this.#byte();
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    let factor = 0x80;
    do {
      if (factor > 2 ** 63) throw new MalformedMessageError(MALFORMED);
      byte = this.#byte();
      value += (byte & 0x7f) * factor;
      factor *= 0x80;
    } while (byte >= 0x80);
    return value;
  }

  /** Reads an unsigned number of 64 bits. */
  bigVarint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new MalformedMessageError(MALFORMED);
  }

  /** Reads a signed number (sint64): a bigint only where a number is not exact. */
  sint64(): number | bigint {
    const start = this.position;
    const zigzag = this.varint();
    if (zigzag <= Number.MAX_SAFE_INTEGER) return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
    this.position = start;
    const raw = this.bigVarint();
    const value = raw & 1n ? -((raw >> 1n) + 1n) : raw >> 1n;
    const plain = Number(value);
    return Number.isSafeInteger(plain) ? plain : value;
  }

  double(): number {
    const start = this.#advance(8);
    return this.view.getFloat64(start, true);
  }

  /** Returns a view of the bytes of a delimited field. */
  delimited(): Uint8Array {
    const length = this.varint();
    const start = this.#advance(length);
    return this.bytes.subarray(start, start + length);
  }

  text(): string {
    try {
      return TEXT.decode(this.delimited());
    } catch {
      throw new MalformedMessageError("a text in the message is not UTF-8");
    }
  }

  /** Enters a delimited message and returns the end to go back to with `leave`. */
  enter(): number {
    const outer = this.end;
    const length = this.varint();
    if (length > outer - this.position) throw new MalformedMessageError(MALFORMED);
    this.end = this.position + length;
    return outer;
  }

  leave(outer: number): void {
    this.position = this.end;
    this.end = outer;
  }

  /** Passes over the value of a field. */
  skip(tag: number): void {
    const wireType = tag & 7;
    if (wireType === VARINT) this.varint();
    else if (wireType === FIXED64) this.#advance(8);
    else if (wireType === DELIMITED) this.#advance(this.varint());
    else if (wireType === FIXED32) this.#advance(4);
    else throw new MalformedMessageError(MALFORMED);
  }

  #byte(): number {
    const byte = this.position < this.end ? this.bytes[this.position++] : undefined;
    if (byte === undefined) throw new MalformedMessageError(MALFORMED);
    return byte;
  }

  #advance(length: number): number {
    const start = this.position;
    if (length > this.end - start) throw new MalformedMessageError(MALFORMED);
    this.position = start + length;
    return start;
  }
}
