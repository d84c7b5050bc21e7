/** The token that a server asks for. */

import { timingSafeEqual } from "node:crypto";
import { Fault } from "./faults.js";

/** Throws a Fault (UNAUTHENTICATED) where a client does not show what the server asks for. */
export function checkToken(shown: string, expected: string | undefined): void {
  if (expected === undefined) return;
  const [one, other] = [Buffer.from(shown), Buffer.from(expected)];
  if (one.length !== other.length || !timingSafeEqual(one, other))
    throw new Fault("UNAUTHENTICATED", "this server asks for a token");
}
