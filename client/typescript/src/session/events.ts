/** The events that a session derives from the outcome of a request. */

import type { EnvwireError } from "../errors.js";
import type { Request } from "../wire/envelope.js";

export type Event =
  /** The request was served. */
  | { readonly type: "answered"; readonly result: unknown }
  /** It was not served; the error of the server or the environment says why. */
  | { readonly type: "refused"; readonly error: EnvwireError }
  /** Send this request instead. */
  | { readonly type: "sendAgain"; readonly request: Request }
  /** Wait the given seconds, connect, and repeat it. */
  | { readonly type: "retryAfter"; readonly seconds: number }
  /** The wait for the answer was abandoned. */
  | { readonly type: "givenUp" };
