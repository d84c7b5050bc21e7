/** The way that requests go: the one interface that all transports have. */

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
 * After a failure nothing is left of the connection: an answer that comes late belongs to nobody.
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
   * @throws EnvwireError DEADLINE_EXCEEDED or CANCELLED: nobody waits any more.
   */
  exchange(request: Request, header: Uint8Array, wait: Wait): Promise<Answer>;
  close(): void;
}
