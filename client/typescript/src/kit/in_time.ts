/** Waiting for environments, which may take for ever. */

import { LONGEST_TIMER } from "../transports/waiting.js";
import type { Fault } from "./faults.js";

/** Returns what work comes to, or throws what `late` returns when it takes longer than so many milliseconds. */
export function inTime<T>(work: Promise<T>, milliseconds: number, late: () => Fault): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), Math.min(milliseconds, LONGEST_TIMER));
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
