/** Frames of the direct channel: a header of 16 bytes, a message, and attachments. No I/O happens here. */

export const HEADER_BYTES = 16;

/** What a direct channel begins with: "envwire" and the version of the channel. */
export const PREAMBLE = Uint8Array.of(0x65, 0x6e, 0x76, 0x77, 0x69, 0x72, 0x65, 0x01);

export interface Frame {
  readonly message: Uint8Array;
  /** 0, but for frames of a reader that takes others. */
  readonly slot: number;
  readonly attachments: Uint8Array | undefined;
}

/** A peer sent an invalid frame; the channel cannot continue. */
export class FrameError extends Error {
  override name = "FrameError";
}

/**
 * Fills in the header of a frame whose message stands behind it; returns the frame.
 *
 * @param more Bytes of the message that are sent apart, behind these.
 */
export function seal(frame: Uint8Array, more = 0): Uint8Array {
  const view = new DataView(frame.buffer, frame.byteOffset);
  view.setUint32(0, frame.length - HEADER_BYTES + more, true);
  view.setUint32(4, 0, true);
  view.setBigUint64(8, 0n, true);
  return frame;
}

/** Returns a frame that holds a message. */
export function frameOf(message: Uint8Array): Uint8Array {
  const frame = new Uint8Array(HEADER_BYTES + message.length);
  frame.set(message, HEADER_BYTES);
  return seal(frame);
}

/** Cuts the bytes of a connection into frames, whatever pieces they come in. */
export class FrameReader {
  readonly #header = new Uint8Array(HEADER_BYTES);
  readonly #view = new DataView(this.#header.buffer);
  #message: Uint8Array | undefined;
  #attachments: Uint8Array | undefined;
  #filled = 0;
  #slot = 0;

  /**
   * @param limit Bytes that a frame may have, attachments included.
   * @param withAttachments Whether the peer may send attachments: servers may, clients may not.
   * @param withSlots Whether the peer may name a slot; what it means is the caller's matter.
   */
  constructor(
    public limit: number,
    readonly withAttachments: boolean,
    public withSlots = false,
  ) {}

  /** Takes bytes that arrived; calls `take` with every frame that they complete. Nothing of `chunk` is kept. */
  push(chunk: Uint8Array, take: (frame: Frame) => void): void {
    let at = 0;
    while (at < chunk.length || this.#complete) {
      if (this.#complete) take(this.#finish());
      else at += this.#fill(chunk, at);
    }
  }

  /** Whether nothing of a frame has arrived. */
  get empty(): boolean {
    return this.#filled === 0;
  }

  /** The bytes of a frame of which a part has arrived. */
  get rest(): Uint8Array {
    const message = this.#message ?? new Uint8Array(0);
    const header = this.#header.subarray(0, Math.min(this.#filled, HEADER_BYTES));
    return Buffer.concat([header, message.subarray(0, this.#filled - header.length)]);
  }

  get #complete(): boolean {
    if (this.#message === undefined) return false;
    return this.#filled === HEADER_BYTES + this.#message.length + (this.#attachments?.length ?? 0);
  }

  #fill(chunk: Uint8Array, at: number): number {
    const { target, offset } = this.#target();
    const count = Math.min(chunk.length - at, target.length - offset);
    target.set(chunk.subarray(at, at + count), offset);
    this.#filled += count;
    if (this.#message === undefined && this.#filled === HEADER_BYTES) this.#begin();
    return count;
  }

  #target(): { target: Uint8Array; offset: number } {
    if (this.#message === undefined) return { target: this.#header, offset: this.#filled };
    const offset = this.#filled - HEADER_BYTES;
    if (this.#attachments === undefined || offset < this.#message.length)
      return { target: this.#message, offset };
    return { target: this.#attachments, offset: offset - this.#message.length };
  }

  #begin(): void {
    const length = this.#view.getUint32(0, true);
    const slot = this.#view.getUint32(4, true);
    const attached = Number(this.#view.getBigUint64(8, true));
    if (slot !== 0 && !this.withSlots)
      throw new FrameError("a frame lies in shared memory, and none was agreed on");
    if (attached > 0 && !this.withAttachments) throw new FrameError("a frame of a client has attachments");
    if (length + attached > this.limit)
      throw new FrameError(`a frame of ${length + attached} bytes, and ${this.limit} are accepted`);
    this.#slot = slot;
    this.#message = new Uint8Array(length);
    this.#attachments = attached > 0 ? new Uint8Array(attached) : undefined;
  }

  #finish(): Frame {
    const frame = { message: this.#message as Uint8Array, slot: this.#slot, attachments: this.#attachments };
    this.#message = this.#attachments = undefined;
    this.#filled = 0;
    return frame;
  }
}
