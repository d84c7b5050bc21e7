/** Attachments that are encoded on their way over TCP, for connections that are slower than compressing. */

import * as zlib from "node:zlib";
import { Encoding } from "../gen/envwire/v1/direct_pb.js";
import { FrameError } from "./frames.js";

/** Added to the number of an encoding, where a frame names a slot of shared memory. */
export const ENCODED = 2 ** 31;

type Decompress = (data: Uint8Array, options: { maxOutputLength: number }) => Uint8Array;

/** Node.js has it since 22.15 and 23.8. */
const decompress = (zlib as { zstdDecompressSync?: Decompress }).zstdDecompressSync;

/** The encodings that can be read here. */
export const ENCODINGS: readonly Encoding[] =
  decompress === undefined ? [] : [Encoding.ZSTD, Encoding.XOR_ZSTD];

/** Reads the encoded attachments of one channel. */
export class Decoder {
  #last: Uint8Array = new Uint8Array(0);

  /** @param limit Bytes that attachments may have when they are decoded. */
  constructor(public limit = 0) {}

  /** Returns attachments in memory of their own. */
  decode(location: number, encoded: Uint8Array): Uint8Array {
    const content = this.#decompressed(encoded);
    const encoding = location - ENCODED;
    if (encoding === Encoding.XOR_ZSTD && content.length === this.#last.length) {
      for (let at = 0; at < content.length; at++)
        content[at] = (content[at] as number) ^ (this.#last[at] as number);
    } else if (encoding !== Encoding.ZSTD) {
      throw new FrameError(
        `attachments of encoding ${encoding}, ${content.length} bytes after ${this.#last.length}`,
      );
    }
    this.#last = content;
    return content.slice(); // what the caller's arrays are views of, who may write to them
  }

  #decompressed(encoded: Uint8Array): Uint8Array {
    const size = contentSize(encoded);
    if (decompress === undefined || size === undefined || size > this.limit)
      throw new FrameError(`encoded attachments of ${size} bytes, and ${this.limit} are accepted`);
    try {
      const content = decompress(encoded, { maxOutputLength: size });
      if (content.length === size) return new Uint8Array(content.buffer, content.byteOffset, size);
    } catch (error) {
      throw new FrameError(`encoded attachments: ${(error as Error).message}`);
    }
    throw new FrameError(`encoded attachments that are not the ${size} bytes that they say`);
  }
}

const MAGIC = 0xfd2fb528;

/** Returns the size that the header of a Zstandard frame (RFC 8878, 3.1.1.1) states; undefined if it states none. */
function contentSize(frame: Uint8Array): number | undefined {
  if (frame.length < 18) frame = Buffer.concat([frame, new Uint8Array(18)]); // more than any header
  const view = new DataView(frame.buffer, frame.byteOffset);
  if (view.getUint32(0, true) !== MAGIC) return undefined;
  const descriptor = frame[4] as number;
  const single = (descriptor & 0x20) !== 0;
  const dictionary = [0, 1, 2, 4][descriptor & 3] as number;
  const at = 5 + (single ? 0 : 1) + dictionary;
  switch (descriptor >> 6) {
    case 0:
      return single ? frame[at] : undefined;
    case 1:
      return view.getUint16(at, true) + 256;
    case 2:
      return view.getUint32(at, true);
    default:
      return Number(view.getBigUint64(at, true));
  }
}
