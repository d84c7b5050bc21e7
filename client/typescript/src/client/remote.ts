/** Base of single and vector environments: a session on a server, and its connection. */

import type { MakeResponse } from "../gen/envwire/v1/environment_pb.js";
import * as operations from "../session/operations.js";
import { decodeSpace } from "../spaces/decoding.js";
import type { Space } from "../spaces/space.js";
import type { UnaryTransport } from "../transports/unary.js";
import { fromMapMessage } from "../values/messages.js";
import type { Mapping, Value } from "../values/types.js";
import type { ResetAnswer } from "../wire/steps.js";
import type { CallOptions, Driver } from "./driver.js";
import { FollowedSpace } from "./followed_space.js";
import { LeaseKeeper } from "./lease_keeper.js";
import { type Warn, warn } from "./results.js";

/** The client's parts of a session on a server. */
export interface Connection {
  readonly driver: Driver;
  readonly made: MakeResponse;
  /** Carries requests that do not belong to the session, over gRPC. */
  readonly control: UnaryTransport;
}

/** Seconds that closing may take; the server ends an unclosed session when its lease is over. */
const CLOSE_SECONDS = 10;

/** Closes a session and its connections, in any state. */
export async function closeSession(
  driver: Driver,
  control: UnaryTransport,
  options: CallOptions = { timeout: CLOSE_SECONDS },
): Promise<void> {
  try {
    if (!driver.session.ended) await driver.serve(operations.close(), options);
  } catch {
    // The server is unreachable or has ended the session, which ends with its lease in any case.
  } finally {
    driver.session.end();
    driver.transport.close();
    control.connection.close();
  }
}

export abstract class Remote implements AsyncDisposable {
  readonly metadata: Mapping;
  readonly renderMode: string | undefined;
  protected readonly driver: Driver;
  protected readonly warn: Warn = warn;
  readonly #connection: Connection;
  readonly #keeper: LeaseKeeper;
  readonly #observationSpace: FollowedSpace;
  readonly #actionSpace: FollowedSpace;

  constructor(connection: Connection) {
    const { driver, made, control } = connection;
    this.#connection = connection;
    this.#keeper = new LeaseKeeper(driver, control);
    this.driver = driver;
    this.#observationSpace = new FollowedSpace(decodeSpace(made.observationSpace));
    this.#actionSpace = new FollowedSpace(decodeSpace(made.actionSpace));
    this.metadata = fromMapMessage(made.metadata);
    this.renderMode = made.renderMode;
  }

  /** The space of observations; a reset may replace it, if the environment changes its spaces. */
  get observationSpace(): Space {
    return this.#observationSpace.present;
  }

  /** The space of actions; a reset may replace it. */
  get actionSpace(): Space {
    return this.#actionSpace.present;
  }

  /** Takes the spaces that a reset has changed. */
  protected followSpaces({ observationSpace, actionSpace }: ResetAnswer): void {
    this.#observationSpace.follow(observationSpace);
    this.#actionSpace.follow(actionSpace);
  }

  /** The contract's own messages: the answer to `Make`, and any request, as bytes. */
  get raw() {
    const { driver, made, control } = this.#connection;
    return { made, session: driver.session, transport: driver.transport, control };
  }

  /** Optional features of the session: "chunk", "replay", "save_state", "fork". */
  get capabilities(): ReadonlySet<string> {
    return new Set(this.#connection.made.capabilities);
  }

  /** Number of times that the session continued after its connection broke. */
  get resumed(): number {
    return this.driver.session.resumed;
  }

  /** Returns a frame: an NdArray for "rgb_array", a text for "ansi", null for modes without one. */
  render(options?: CallOptions): Promise<Value> {
    return this.driver.serve(operations.render(), options);
  }

  /** Returns an attribute of the environment, from the outermost wrapper that has it; undefined for a method. */
  async getAttribute(name: string, options?: CallOptions): Promise<Value | undefined> {
    const { value, callable } = await this.driver.serve(operations.getAttribute(name), options);
    return callable ? undefined : value;
  }

  hasAttribute(name: string, options?: CallOptions): Promise<boolean> {
    return this.driver.serve(operations.hasAttribute(name), options);
  }

  /** Sets an attribute on the layer that has it, or creates it on the outermost wrapper. */
  async setAttribute(name: string, value: Value, options?: CallOptions): Promise<void> {
    await this.driver.serve(operations.setAttribute(name, value, true), options);
  }

  /** Calls a method of the environment. */
  call(
    name: string,
    args: readonly Value[] = [],
    kwargs: Mapping = {},
    options?: CallOptions,
  ): Promise<Value> {
    return this.driver.serve(operations.callMethod(name, args, kwargs), options);
  }

  /** Saves the environment's state in the session and returns its number, for `restoreState`. */
  saveState(options?: CallOptions): Promise<bigint> {
    return this.driver.serve(operations.saveState(), options);
  }

  restoreState(state: bigint, options?: CallOptions): Promise<undefined> {
    return this.driver.serve(operations.restoreState(state), options);
  }

  /** Closes the environment. Closing is idempotent: a session that is gone already counts as closed. */
  async close(options?: CallOptions): Promise<void> {
    this.#keeper.stop();
    const { driver, control } = this.#connection;
    await closeSession(driver, control, options);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
