/** What a session makes of what came of its request. */

import type { EnvwireError } from "../errors.js";
import type { Request } from "../wire/envelope.js";

export type Event =
  /** The request was served. */
  | { readonly type: "answered"; readonly result: unknown }
  /** It was not: the server or the environment said why. */
  | { readonly type: "refused"; readonly error: EnvwireError }
  /** Send this in its place. */
  | { readonly type: "sendAgain"; readonly request: Request }
  /** Wait so many seconds, connect, and repeat it. */
  | { readonly type: "retryAfter"; readonly seconds: number }
  /** Nobody waits for the answer any more. */
  | { readonly type: "givenUp" };
