/** The interface that authors of environments implement. */

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
 * The result of a step; omitted fields are false or empty.
 *
 * A reward is a number, and the flags are booleans; values of other types are sent to clients unchanged.
 */
export interface Transition {
  readonly observation: Value;
  readonly reward: Value;
  readonly terminated?: Value;
  readonly truncated?: Value;
  readonly info?: Mapping;
  /** Warnings to send to the client. */
  readonly warnings?: readonly Warning[];
}

export interface ResetContext {
  /**
   * The session's generator, seeded as Gymnasium seeds `np_random`; it draws the same numbers as NumPy. It is the same
   * object for the whole session, so it may be kept for the steps of the episode.
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
  /** false: the environment itself checks actions, and handles steps before the first reset. */
  readonly checked?: boolean;
  /** true: integers arrive as bigint and floats as `Float`, so that 1 and 1.0 are distinct. */
  readonly exact?: boolean;
  /** Returns the state of the environment without the generator; with `setState`, clients can save states. */
  getState?(): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: it is what `getState` returned
  setState?(state: any): void;
}

/** Descriptions and optional methods of an environment. */
export interface Described {
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  /** For example `{ render_modes: ["ansi"], render_fps: 4 }`. */
  readonly metadata?: Mapping;
  readonly rewardRange?: readonly [number, number];
  /** Names of the attributes and methods that clients may access; none if absent. */
  readonly exposed?: readonly string[];
  render?(): Awaitable<Value>;
  close?(): Awaitable<void>;
}

/** The request of a client. */
export interface MakeContext {
  readonly renderMode: string | undefined;
  readonly kwargs: Mapping;
}

/** Environments by their ids, such as "Counter-v0". */
export type Registry = Readonly<Record<string, (context: MakeContext) => Awaitable<Environment>>>;
