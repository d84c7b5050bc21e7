/**
 * Writes protobuf messages from their end to their beginning, so that each length is known when it is needed.
 * Fields are therefore written last first, and the elements of a list likewise.
 */

import { DELIMITED, FIXED64, VARINT } from "./reader.js";

const TEXT = new TextEncoder();
const FIRST_BYTES = 256;
/** Memory that one message needed is used again up to here. */
const MAX_KEPT_BYTES = 2 ** 20;

export class Writer {
  #bytes = new Uint8Array(FIRST_BYTES);
  #view = new DataView(this.#bytes.buffer);
  #start = FIRST_BYTES;

  /** Bytes written so far. */
  get length(): number {
    return this.#bytes.length - this.#start;
  }

  /** Returns what was written, and begins anew. */
  take(): Uint8Array {
    const large = this.#bytes.length > MAX_KEPT_BYTES;
    const message = large ? this.#bytes.subarray(this.#start) : this.#bytes.slice(this.#start);
    this.clear();
    return message;
  }

  /** Drops what was written, after a value that has no wire form. */
  clear(): void {
    if (this.#bytes.length > MAX_KEPT_BYTES) this.#use(new Uint8Array(FIRST_BYTES));
    this.#start = this.#bytes.length;
  }

  /** Writes a message of which everything behind `mark` (the `length` before it) is the content. */
  message(field: number, mark: number): void {
    this.varint(this.length - mark);
    this.#tag(field, DELIMITED);
  }

  bytes(field: number, content: Uint8Array): void {
    this.#reserve(content.length);
    this.#bytes.set(content, this.#start);
    this.varint(content.length);
    this.#tag(field, DELIMITED);
  }

  text(field: number, content: string): void {
    this.bytes(field, TEXT.encode(content));
  }

  number(field: number, value: number): void {
    this.varint(value);
    this.#tag(field, VARINT);
  }

  sint64(field: number, value: number | bigint): void {
    const small = typeof value === "number" && Math.abs(value) < 2 ** 51;
    if (small) this.varint(value < 0 ? -2 * value - 1 : 2 * value);
    else {
      const exact = BigInt(value);
      this.#bigVarint(exact < 0n ? -2n * exact - 1n : 2n * exact);
    }
    this.#tag(field, VARINT);
  }

  double(field: number, value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#start, value, true);
    this.#tag(field, FIXED64);
  }

  /** Writes an unsigned number below 2^53 without a tag. */
  varint(value: number): void {
    const size = varintSize(value);
    this.#reserve(size);
    let at = this.#start;
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[at] = rest;
  }

  #bigVarint(value: bigint): void {
    const groups: number[] = [];
    for (let rest = value; ; rest >>= 7n) {
      groups.push(Number(rest & 0x7fn));
      if (rest < 0x80n) break;
    }
    this.#reserve(groups.length);
    groups.forEach((group, index) => {
      this.#bytes[this.#start + index] = index + 1 < groups.length ? group | 0x80 : group;
    });
  }

  #tag(field: number, wireType: number): void {
    this.varint(field * 8 + wireType);
  }

  #reserve(size: number): void {
    if (size > this.#start) this.#grow(size);
    this.#start -= size;
  }

  #grow(size: number): void {
    const written = this.length;
    const larger = new Uint8Array(Math.max(2 * this.#bytes.length, written + size + FIRST_BYTES));
    larger.set(this.#bytes.subarray(this.#start), larger.length - written);
    this.#use(larger);
    this.#start = larger.length - written;
  }

  #use(bytes: Uint8Array<ArrayBuffer>): void {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
  }
}

/** Returns how many bytes an unsigned number takes. */
export function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++;
  return size;
}
