/** Waiting for environments with a timeout. */

import { LONGEST_TIMER } from "../transports/waiting.js";
import type { Fault } from "./faults.js";

/** Returns the result of work, or throws the error of `late` if it takes longer than the given milliseconds. */
export function inTime<T>(work: Promise<T>, milliseconds: number, late: () => Fault): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), Math.min(milliseconds, LONGEST_TIMER));
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
