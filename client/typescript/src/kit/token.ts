/** The token that a server requires. */

import { timingSafeEqual } from "node:crypto";
import { Fault } from "./faults.js";

/** Throws a Fault (UNAUTHENTICATED) if a client does not send the required token. */
export function checkToken(shown: string, expected: string | undefined): void {
  if (expected === undefined) return;
  const [one, other] = [Buffer.from(shown), Buffer.from(expected)];
  if (one.length !== other.length || !timingSafeEqual(one, other))
    throw new Fault("UNAUTHENTICATED", "this server asks for a token");
}
