/** The accessible attributes of an environment: exposed ones, its render mode, and those that a client forced. */

import type { Mapping, Value } from "../../values/types.js";
import type { Described } from "../environment.js";
import { Fault } from "../faults.js";

const MOST_FORCED = 1_000;

export class Attributes {
  readonly #forced = new Map<string, Value>();

  constructor(
    readonly env: Described,
    renderMode: string | undefined,
  ) {
    this.#forced.set("render_mode", renderMode ?? null);
  }

  /** Returns an attribute or a method; undefined for none. */
  get(name: string): unknown {
    if (!this.#isExposed(name)) return this.#forced.get(name);
    return this.#own[name];
  }

  /** Sets an attribute where it is; elsewhere with `force` only. Returns whether it is set. */
  set(name: string, value: Value, force: boolean): boolean {
    if (this.#isExposed(name) && typeof this.#own[name] !== "function") this.#own[name] = value;
    else if (force && this.#forced.size < MOST_FORCED) this.#forced.set(name, value);
    else return false;
    return true;
  }

  /** Calls a method. Arguments with names are one more argument, an object, when there are any. */
  call(name: string, args: readonly Value[], kwargs: Mapping): unknown {
    const method = this.get(name);
    if (typeof method !== "function") throw missing(name);
    const named = kwargs instanceof Map ? kwargs.size : Object.keys(kwargs).length;
    return method.apply(this.env, named > 0 ? [...args, kwargs] : args);
  }

  #isExposed(name: string): boolean {
    return this.env.exposed?.includes(name) === true;
  }

  get #own(): Record<string, unknown> {
    return this.env as unknown as Record<string, unknown>;
  }
}

export function missing(name: string): Fault {
  return new Fault("ATTRIBUTE_MISSING", `the environment has no attribute "${name}" that clients may reach`, {
    name,
  });
}
