/** One session: an environment, its numbers, its last answer, and its lease. No I/O happens here. */

import type { Answer, Request } from "../wire/envelope.js";
import { errorAnswer, Fault, faultOf, type Reason } from "./faults.js";
import type { Hosted } from "./hosting/hosted_env.js";
import { inTime } from "./in_time.js";
import { Replaying } from "./replay/replaying.js";
import { sequenceOf } from "./request_fields.js";

/** Why a session ended. */
export type EndReason = Extract<Reason, "SESSION_CLOSED" | "SESSION_EXPIRED" | "STEP_TIMEOUT" | "DRAINING">;

const END_TEXTS: Record<EndReason, string> = {
  SESSION_CLOSED: "the session was closed",
  SESSION_EXPIRED: "the lease ran out, and the session was ended",
  STEP_TIMEOUT: "the environment took too long, and the session was ended",
  DRAINING: "the server stops, and the session was ended",
};

export function endFault(reason: EndReason): Fault {
  return new Fault(reason, END_TEXTS[reason]);
}

function failed(thrown: unknown): Answer {
  return errorAnswer(faultOf(thrown));
}

/** The last request that was served, or is being served, and its answer. */
interface Kept {
  readonly request: Request;
  readonly answer: Answer | Promise<Answer>;
}

/** Called with the session that a request used. */
export type Used = (session: Session) => void;

export class Session {
  ended: EndReason | undefined;
  requests = 0;
  #last = 0;
  #kept: Kept | undefined;
  #holders = 0;
  #running = 0;
  #usedAt: number;
  /** The environment; released when the session ends, because ended sessions are remembered for long. */
  #life: { readonly hosted: Hosted; readonly replaying: Replaying } | undefined;

  /**
   * @param lease Milliseconds.
   * @param stepTimeout Milliseconds that a request may wait; a request that computes is not stopped.
   * @param now Monotonic time in milliseconds.
   * @param onEnd Called once, when the session has ended, with its environment.
   */
  constructor(
    readonly id: string,
    readonly secret: Uint8Array,
    hosted: Hosted,
    readonly lease: number,
    readonly stepTimeout: number,
    readonly maxMessageBytes: number,
    readonly now: () => number,
    readonly onEnd: (session: Session, hosted: Hosted) => void,
  ) {
    this.#usedAt = now();
    this.#life = { hosted, replaying: new Replaying(hosted, (request) => this.#answerTo(request), now) };
  }

  /** @throws Fault The session has ended. */
  get hosted(): Hosted {
    return this.#living().hosted;
  }

  /** Steps that the environment took, those of chunks each. */
  get steps(): number {
    return this.#life?.hosted.steps ?? 0;
  }

  #living() {
    if (this.#life === undefined) throw endFault(this.ended ?? "SESSION_CLOSED");
    return this.#life;
  }

  /** Serves a request, whose header was taken out. */
  serve(request: Request): Answer | Promise<Answer> {
    if (this.ended !== undefined) return this.#afterEnd(request, this.ended);
    this.touch();
    try {
      const sequence = sequenceOf(request.body);
      if (sequence === this.#last && this.#kept !== undefined) return this.#repeated(this.#kept, request);
      if (sequence !== this.#last + 1) return this.#gap(request, sequence);
      this.#last = sequence;
    } catch (thrown) {
      return failed(thrown);
    }
    const before = this.#kept?.answer;
    const answer =
      before instanceof Promise ? before.then(() => this.#serveNext(request)) : this.#serveNext(request);
    this.#keep(request, answer);
    return answer;
  }

  /** Serves a request of the server that runs this program: it has no number, and its answer is not kept. */
  serveOwn(request: Request): Answer | Promise<Answer> {
    if (this.ended !== undefined) return this.#afterEnd(request, this.ended);
    return this.#serveNext(request);
  }

  #keep(request: Request, answer: Answer | Promise<Answer>): void {
    this.#kept = { request, answer };
    if (answer instanceof Promise)
      answer.then((settled) => {
        if (this.#kept?.request === request) this.#kept = { request, answer: settled };
      });
  }

  #afterEnd({ kind }: Request, reason: EndReason): Answer {
    return kind === "close" ? { kind, body: new Uint8Array(0) } : errorAnswer(endFault(reason));
  }

  #repeated(kept: Kept, request: Request): Answer | Promise<Answer> {
    const same = kept.request.kind === request.kind && Buffer.compare(kept.request.body, request.body) === 0;
    if (same) return kept.answer;
    if (request.kind === "close") this.end("SESSION_CLOSED");
    return errorAnswer(new Fault("SEQUENCE_REUSED", `request number ${this.#last} was another request`));
  }

  /** A close ends the session whatever its number. */
  #gap({ kind }: Request, sequence: number): Answer {
    if (kind === "close") this.end("SESSION_CLOSED");
    const expected = this.#last + 1;
    const message = `request number ${sequence} came where ${expected} is next`;
    return errorAnswer(new Fault("SEQUENCE_GAP", message, { expected: String(expected) }));
  }

  #serveNext(request: Request): Answer | Promise<Answer> {
    const { kind } = request;
    this.requests += 1;
    const answer = this.#answerTo(request);
    if (!(answer instanceof Promise)) return this.#finished(kind, answer);
    this.#running += 1;
    return inTime(answer, this.stepTimeout, () => this.#overrun())
      .catch(failed)
      .then((settled) => {
        this.#running -= 1;
        return this.#finished(kind, settled);
      });
  }

  #overrun(): Fault {
    this.end("STEP_TIMEOUT");
    return endFault("STEP_TIMEOUT");
  }

  /** Serves a request whatever its number. */
  #answerTo({ kind, body }: Request): Answer | Promise<Answer> {
    try {
      const { hosted, replaying } = this.#living();
      const answer = kind === "replay" ? replaying.apply(body) : hosted.serve(kind, body);
      if (!(answer instanceof Promise)) return this.#answer(kind, answer);
      return answer.then((settled) => this.#answer(kind, settled)).catch(failed);
    } catch (thrown) {
      return failed(thrown);
    }
  }

  #answer(kind: Request["kind"], body: Uint8Array): Answer {
    if (body.length + 16 <= this.maxMessageBytes) return { kind, body };
    const message = `the answer has ${body.length} bytes, and ${this.maxMessageBytes} are allowed`;
    return errorAnswer(new Fault("MESSAGE_TOO_LARGE", message));
  }

  #finished(kind: Request["kind"], answer: Answer): Answer {
    this.touch();
    if (kind === "close") this.end("SESSION_CLOSED");
    return answer;
  }

  /** A connection uses the session from now on; returns what ends that. */
  hold(): () => void {
    this.#holders += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#holders -= 1;
      this.touch();
    };
  }

  /** Renews the lease. */
  touch(): void {
    this.#usedAt = this.now();
  }

  get expired(): boolean {
    return this.#holders === 0 && this.#running === 0 && this.now() - this.#usedAt > this.lease;
  }

  /** Ends the session; only the first reason counts. */
  end(reason: EndReason): void {
    if (this.#life === undefined) return;
    const { hosted } = this.#life;
    this.ended = reason;
    this.#life = this.#kept = undefined;
    this.onEnd(this, hosted);
  }
}
