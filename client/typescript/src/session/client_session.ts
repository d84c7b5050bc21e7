/**
 * The client's side of one session: which requests to send, and the meaning of answers. No I/O happens here.
 *
 * A driver asks for the next request, sends it, and reports the outcome: an answer, a broken connection, a
 * timeout. The table of `states.ts` defines the allowed sequences. An answer is never assigned to another request, and a
 * request that was sent is never served twice.
 */

import { randomBytes } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  type ConnectionError,
  EnvwireError,
  endsSession,
  errorFromStatus,
  MalformedMessageError,
  parseAnswer,
  readAnswer,
} from "../errors.js";
import {
  type MakeRequest,
  MakeRequestSchema,
  type MakeResponse,
  MakeResponseSchema,
  SessionHeaderSchema,
} from "../gen/envwire/v1/environment_pb.js";
import type { Answer, Request } from "../wire/envelope.js";
import { Writer } from "../wire/writer.js";
import type { Event } from "./events.js";
import type { Operation } from "./operations.js";
import { RetrySchedule } from "./retry_schedule.js";
import { moved, type State } from "./states.js";

/** Seconds to wait for an environment to be made, when the caller sets no timeout: more than a server allows by default. */
const MAKE_SECONDS = 180;
/** Seconds to wait beyond the server's own limit, whose error says more than a timeout here. */
const SLACK_SECONDS = 10;
/** A Make has an id, under which it is repeated when its answer was lost. */
const REQUEST_ID_BYTES = 16;
const GIVEN_UP: Event = { type: "givenUp" };
const NO_HEADER = new Uint8Array(0);

/** Monotonic time in seconds. */
export type Clock = () => number;
export const monotonic: Clock = () => performance.now() / 1000;

export class ClientSession {
  state: State = "UNMADE";
  /** Number of the last numbered request. */
  sequence = 0;
  /** The SessionHeader as field 1 of each request; empty until the session is made. */
  header: Uint8Array = NO_HEADER;
  #operation: Operation<unknown> | undefined;
  #request: Request | undefined;
  #timeout: number;
  readonly #ownTimeout: boolean;
  readonly #retries = new RetrySchedule();
  readonly #clock: Clock;

  /** @param timeout Seconds to wait for an answer; absent for slightly more than the server's own limit. */
  constructor(timeout?: number, clock: Clock = monotonic) {
    this.#ownTimeout = timeout !== undefined;
    this.#timeout = timeout ?? MAKE_SECONDS;
    this.#clock = clock;
  }

  /** Seconds that the session outlives its connection, or its client's last request. */
  get lease(): number {
    return this.#retries.lease;
  }

  /** Number of times that it continued after its connection broke. */
  get resumed(): number {
    return this.#retries.resumed;
  }

  get ended(): boolean {
    return this.state === "ENDED";
  }

  /** Whether a caller waits for an answer. */
  get pending(): boolean {
    return ["MAKING", "MAKE_BROKEN", "AWAITING", "BROKEN"].includes(this.state);
  }

  /** Whether the last request has to be repeated before another one, although its answer is not awaited any longer. */
  get inDoubt(): boolean {
    return this.state === "IN_DOUBT";
  }

  /** Seconds that the pending request has left; never below the pause of a retry, for a connection that came late. */
  get timeLeft(): number {
    return Math.max(this.#retries.deadline - this.#clock(), 0.02);
  }

  makeRequest(request: MakeRequest): Request {
    this.state = moved(this.state, "MAKE");
    const named = create(MakeRequestSchema, { ...request, requestId: randomBytes(REQUEST_ID_BYTES) });
    this.#begin(undefined, { kind: "make", body: toBinary(MakeRequestSchema, named) }, this.#timeout);
    return this.#request as Request;
  }

  /**
   * Numbers a request and returns it, to be sent.
   *
   * @param timeout Seconds that it may take, in place of the session's.
   * @throws ValueError A value has no wire form; nothing is to be sent.
   */
  nextRequest(operation: Operation<unknown>, timeout = this.#timeout): Request {
    const state = moved(this.state, "REQUEST");
    const body = operation.write(this.sequence + 1);
    this.state = state;
    this.sequence += 1;
    return this.#begin(operation, { kind: operation.kind, body }, timeout);
  }

  #begin(operation: Operation<unknown> | undefined, request: Request, timeout: number): Request {
    this.#operation = operation;
    this.#request = request;
    this.#retries.deadline = this.#clock() + timeout;
    return request;
  }

  /** Takes the answer to the request that is pending. */
  receive(answer: Answer): Event {
    if (answer.kind === "error") return this.#receiveError(answer.body);
    if (this.state === "MAKING") return this.#receiveMake(parseAnswer(MakeResponseSchema, answer.body));
    this.#answered();
    const operation = this.#operation as Operation<unknown>;
    if (operation.kind === "close") this.end();
    return { type: "answered", result: readAnswer(() => operation.read(answer.body, answer.attachments)) };
  }

  #answered(): void {
    this.state = moved(this.state, "ANSWER");
    if (this.#retries.isLate) this.#retries.answered();
  }

  #receiveMake(made: MakeResponse): Event {
    this.state = moved(this.state, "MADE");
    this.#retries.forgetCut();
    this.#retries.lease = seconds(made.lease);
    // A gateway that is gone does not mean that the session behind it is gone.
    if (made.capabilities.includes("relayed")) this.#retries.refusedSpan = this.#retries.lease;
    this.header = headerField(made.sessionId, made.secret);
    if (!this.#ownTimeout) this.#timeout = (seconds(made.stepTimeout) || MAKE_SECONDS) + SLACK_SECONDS;
    return { type: "answered", result: made };
  }

  #receiveError(status: Uint8Array): Event {
    const error = errorFromStatus(status);
    const { reason, metadata } = error;
    if (this.state === "AWAITING" && (reason === "SEQUENCE_GAP" || reason === "SEQUENCE_REUSED"))
      return this.#renumbered(metadata["expected"]);
    if (this.state === "MAKING") this.end();
    else {
      this.#answered();
      if (endsSession(reason)) this.end();
    }
    return { type: "refused", error };
  }

  /**
   * Takes the number that the server asks for; one that is used is followed by the next one. This happens after a
   * request that was refused before it reached the session.
   */
  #renumbered(expected: string | undefined): Event {
    const next = expected === undefined ? this.sequence + 1 : readAnswer(() => numberOf(expected));
    // Otherwise a server that keeps requesting other numbers would be answered forever.
    if (this.#clock() > this.#retries.deadline)
      throw new EnvwireError("DEADLINE_EXCEEDED", `the server asks for number ${next}, and the time is up`);
    this.state = moved(this.state, "RENUMBER");
    this.sequence = next;
    const { kind, write } = this.#operation as Operation<unknown>;
    this.#request = { kind, body: write(this.sequence) };
    return { type: "sendAgain", request: this.#request };
  }

  /** Takes a connection that broke before the answer came, or did not come about. */
  connectionLost({ refused, connected }: ConnectionError): Event {
    this.state = moved(this.state, "CUT");
    const pause = this.#retries.failed(this.#clock(), refused, connected);
    if (pause === undefined) return this.giveUp();
    return { type: "retryAfter", seconds: pause };
  }

  /** Returns the pending request, to be sent on a new connection. */
  repeat(): Request {
    if (this.inDoubt) this.#retries.deadline = this.#clock() + this.#timeout;
    this.state = moved(this.state, "REPEAT");
    return this.#request as Request;
  }

  /** Notes that the request in doubt is not to be sent again: the next one gets its number. */
  takeBack(): void {
    this.state = moved(this.state, "TAKE_BACK");
    this.sequence -= 1;
  }

  /** Abandons the wait for the pending answer: its number is then in doubt. */
  giveUp(): Event {
    if (this.state === "MAKING" || this.state === "MAKE_BROKEN") this.end();
    else this.state = moved(this.state, "GIVE_UP");
    this.#retries.forgetCut();
    return GIVEN_UP;
  }

  /** Records the end of the session. */
  end(): void {
    if (!this.ended) this.state = moved(this.state, "END");
  }
}

function numberOf(text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new MalformedMessageError(`it asks for the request number ${text}`);
}

/** Returns a SessionHeader as field 1 of a request. */
export function headerField(sessionId: string, secret: Uint8Array): Uint8Array {
  const writer = new Writer();
  writer.bytes(1, toBinary(SessionHeaderSchema, create(SessionHeaderSchema, { sessionId, secret })));
  return writer.take();
}

/** Returns a Duration in seconds; 0 for none. */
export function seconds(duration: { seconds: bigint; nanos: number } | undefined): number {
  return duration === undefined ? 0 : Number(duration.seconds) + duration.nanos / 1e9;
}
