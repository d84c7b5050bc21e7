/** The memory of messages. */

/**
 * Returns bytes to be filled. Small ones share a buffer: to make one for each of the messages of a step took a third of
 * the library's own time.
 */
export function pooled(length: number): Uint8Array {
  const { buffer, byteOffset } = Buffer.allocUnsafe(length);
  return new Uint8Array(buffer, byteOffset, length);
}
