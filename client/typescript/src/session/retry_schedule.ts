/**
 * When a request whose connection broke is sent again, and until when.
 *
 * A session keeps its last answer, and answers a repeated request with it. So a request that got no answer because the
 * connection broke is sent again, on a new connection, until the session's lease is over. The lease starts again
 * with each connection that is opened and breaks; the request's own timeout bounds the total.
 */

const FIRST_PAUSE = 0.02;
const LONGEST_PAUSE = 1;
/** Upper limit of a pause, as a fraction of the lease. */
const PART_OF_LEASE = 0.25;
/** Time to retry while connections are refused: no session survives this, but a server may be restarting. */
const REFUSED_SECONDS = 2;
/** For how long a Make is repeated after its connection broke, while somebody listens there. */
const MAKE_SECONDS = 2;

/** The schedule of one session's retries. All times are in seconds; it has no clock of its own. */
export class RetrySchedule {
  /** How long the session outlives a connection; 0 until it is made. */
  lease = 0;
  /** How long it is tried where nobody listens. */
  refusedSpan = REFUSED_SECONDS;
  /** When the time of the present request is up. */
  deadline = 0;
  /** How often a request was answered after its connection broke. */
  resumed = 0;
  #cutAt = Number.POSITIVE_INFINITY;
  #lastCut = 0;
  #pause = 0;

  /** Whether the connection of the pending request broke. */
  get isLate(): boolean {
    return this.#cutAt !== Number.POSITIVE_INFINITY;
  }

  /** Takes a connection that broke, or did not come about; returns the pause before the next try, undefined for none. */
  failed(now: number, refused: boolean, connected: boolean): number | undefined {
    if (!this.isLate) this.noteCut(now);
    else if (connected && this.lease) this.#lastCut = now;
    const left = Math.min(this.#lastCut + this.#span(refused, connected), this.deadline) - now;
    if (left <= 0) return undefined;
    const pause = this.#pause;
    this.#pause = Math.min(2 * pause, LONGEST_PAUSE, (this.lease || MAKE_SECONDS) * PART_OF_LEASE);
    return Math.min(pause, left);
  }

  /** Takes the time at which the connection of a request first broke. */
  noteCut(now: number): void {
    this.#cutAt = this.#lastCut = now;
    this.#pause = FIRST_PAUSE;
  }

  /** Resets the schedule after a request was abandoned. */
  forgetCut(): void {
    this.#cutAt = Number.POSITIVE_INFINITY;
  }

  /** Takes the answer to a request whose connection had broken. */
  answered(): void {
    this.forgetCut();
    if (this.lease) this.resumed += 1;
  }

  #span(refused: boolean, connected: boolean): number {
    if (!this.lease) return connected && !refused ? MAKE_SECONDS : 0;
    return refused ? Math.min(this.lease, this.refusedSpan) : this.lease;
  }
}
