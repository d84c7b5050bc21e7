/** What an author of an environment writes. */

import type { Generator } from "../random/generator.js";
import type { Space } from "../spaces/space.js";
import type { Mapping, Value } from "../values/types.js";
import type { Warning } from "../wire/steps.js";

type Awaitable<T> = T | Promise<T>;

/** The start of an episode. */
export interface Start {
  readonly observation: Value;
  readonly info?: Mapping;
}

/**
 * What a step leads to; what is left out is false or empty.
 *
 * A reward is a number and an end a boolean; another value is shown to clients as it is.
 */
export interface Transition {
  readonly observation: Value;
  readonly reward: Value;
  readonly terminated?: Value;
  readonly truncated?: Value;
  readonly info?: Mapping;
  /** Warnings to show to who drives the environment. */
  readonly warnings?: readonly Warning[];
}

export interface ResetContext {
  /**
   * The session's generator, seeded as Gymnasium seeds `np_random`: it draws what NumPy draws. Keep it for the steps of
   * the episode; it is the same object for the whole session.
   */
  readonly random: Generator;
  readonly options: Mapping | undefined;
}

/**
 * An environment. Actions are checked before `step` sees them, and a step before the first reset is refused.
 *
 * An action of a Discrete space arrives as a number, one of an array space as an NdArray of the space's type.
 */
export interface Environment extends Described {
  reset(context: ResetContext): Awaitable<Start>;
  // biome-ignore lint/suspicious/noExplicitAny: an author names the type of their own actions
  step(action: any): Awaitable<Transition>;
  /** false: actions are not checked, and steps before the first reset not refused; the environment sees to both. */
  readonly checked?: boolean;
  /** true: integers arrive as bigint and floats as `Float`, so that 1 and 1.0 are told apart. */
  readonly exact?: boolean;
  /** Returns all that the future depends on besides the generator; with `setState`, clients can save states. */
  getState?(): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: it is what `getState` returned
  setState?(state: any): void;
}

/** What is shown of an environment, and what it may have besides. */
export interface Described {
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  /** For example `{ render_modes: ["ansi"], render_fps: 4 }`. */
  readonly metadata?: Mapping;
  readonly rewardRange?: readonly [number, number];
  /** Attributes and methods that clients may reach, by name; none when absent. */
  readonly exposed?: readonly string[];
  render?(): Awaitable<Value>;
  close?(): Awaitable<void>;
}

/** What a client asked for. */
export interface MakeContext {
  readonly renderMode: string | undefined;
  readonly kwargs: Mapping;
}

/** Environments by their ids, "Counter-v0" for instance. */
export type Registry = Readonly<Record<string, (context: MakeContext) => Awaitable<Environment>>>;
