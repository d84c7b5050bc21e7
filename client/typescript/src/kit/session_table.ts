/** The sessions of a server: made up to a limit, found by their headers, ended when their leases run out. */

import { randomBytes, timingSafeEqual } from "node:crypto";
import type { SessionHeader } from "../gen/envwire/v1/environment_pb.js";
import { Fault } from "./faults.js";
import type { Hosted } from "./hosting/hosted_env.js";
import { inTime } from "./in_time.js";
import type { Settings } from "./options.js";
import { type EndReason, endFault, Session } from "./session.js";

/** Sessions that ended and are remembered, so that their clients learn why. */
const REMEMBERED = 4096;
const SWEEP_MILLISECONDS = 250;

export class SessionTable {
  readonly #live = new Map<string, Session>();
  readonly #ended = new Map<string, Session>();
  readonly #sweeper: NodeJS.Timeout;
  /** Slots of sessions, including those being made. */
  #making = 0;

  constructor(readonly settings: Settings) {
    this.#sweeper = setInterval(() => this.sweep(), SWEEP_MILLISECONDS);
    this.#sweeper.unref();
  }

  get size(): number {
    return this.#live.size;
  }

  /** Makes a session in a free slot. @param lease Requested seconds; the default if they are not above 0. */
  async open(make: () => Promise<Hosted>, lease: number): Promise<Session> {
    const { maxSessions, defaultLease, maxLease, stepTimeout, maxMessageBytes } = this.settings;
    if (this.#live.size + this.#making >= maxSessions)
      throw new Fault("CAPACITY_REACHED", `the server holds ${maxSessions} sessions already`);
    this.#making += 1;
    try {
      const hosted = await this.#inTime(make());
      const session = new Session(
        randomBytes(16).toString("hex"),
        randomBytes(16),
        hosted,
        Math.min(lease > 0 ? lease : defaultLease, maxLease) * 1000,
        stepTimeout * 1000,
        maxMessageBytes,
        () => performance.now(),
        (ended, hosted) => this.#forget(ended, hosted),
      );
      this.#live.set(session.id, session);
      return session;
    } finally {
      this.#making -= 1;
    }
  }

  /** Returns the made environment; one that is made too late is closed. */
  #inTime(making: Promise<Hosted>): Promise<Hosted> {
    return inTime(making, this.settings.stepTimeout * 1000, () => {
      making.then((late) => late.close()).catch(() => undefined);
      return new Fault("STEP_TIMEOUT", "the environment took too long to be made");
    });
  }

  /** Finds a session, live or ended, whose secret the client knows. */
  find(header: SessionHeader | undefined): Session {
    if (header === undefined || header.sessionId === "")
      throw new Fault("MALFORMED_REQUEST", "the request does not say whose it is");
    const session = this.#live.get(header.sessionId) ?? this.#ended.get(header.sessionId);
    if (session === undefined) throw new Fault("UNKNOWN_SESSION", "the server has no session of this id");
    const { secret } = header;
    if (secret.length !== session.secret.length || !timingSafeEqual(secret, session.secret))
      throw new Fault("WRONG_SECRET", "the secret is not the session's");
    return session;
  }

  /** Finds a session that is live. */
  findLive(header: SessionHeader | undefined): Session {
    const session = this.find(header);
    if (session.ended !== undefined) throw endFault(session.ended);
    return session;
  }

  /** Ends the sessions whose leases ran out. */
  sweep(): void {
    for (const session of this.#live.values()) if (session.expired) session.end("SESSION_EXPIRED");
  }

  /** Ends all sessions. */
  close(reason: EndReason): void {
    clearInterval(this.#sweeper);
    for (const session of this.#live.values()) session.end(reason);
  }

  #forget(session: Session, hosted: Hosted): void {
    this.#live.delete(session.id);
    this.#ended.set(session.id, session);
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > REMEMBERED && oldest !== undefined) this.#ended.delete(oldest);
    hosted.close().catch(() => undefined); // nobody is there to be told
  }
}
