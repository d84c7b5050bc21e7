/** The interface of all transports. */

import type { Answer, Request } from "../wire/envelope.js";

/** When to stop waiting for an answer. */
export interface Wait {
  /** Milliseconds. */
  readonly timeout: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Carries the requests of one session, one at a time. It connects by itself when there is no connection.
 *
 * A failure closes the connection, so that a late answer cannot be taken for another one's.
 */
export interface Transport {
  /** "direct", "stream" or "unary". */
  readonly name: string;
  /** Whether there is a connection that holds the session's lease. */
  readonly holdsLease: boolean;
  /**
   * Sends a request and waits for its answer; an error of the server is an answer.
   *
   * @throws ConnectionError The connection broke, or did not come about: the request may be sent again.
   * @throws EnvwireError DEADLINE_EXCEEDED or CANCELLED: the wait was abandoned.
   */
  exchange(request: Request, header: Uint8Array, wait: Wait): Promise<Answer>;
  close(): void;
}
