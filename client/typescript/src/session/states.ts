/**
 * The life of a session as its client knows it: every state, and every move between states, in this one table. It is
 * that of the Python client (envwire/client/_session/states.py).
 *
 * A number is used by the request that the server serves under it. An abandoned request leaves
 * its number in doubt: it is sent once more before the next one, and its answer is discarded once it was
 * served. So numbers never run ahead of answers, and a request that arrives late finds its number used.
 */

export type State =
  /** Nothing was sent yet. */
  | "UNMADE"
  /** The Make is sent. */
  | "MAKING"
  /** As MAKING, but the connection broke: the Make is to be repeated. */
  | "MAKE_BROKEN"
  /** Every numbered request was answered. */
  | "READY"
  /** A numbered request is sent, its answer is to come. */
  | "AWAITING"
  /** As AWAITING, but the connection broke: the request is to be repeated. */
  | "BROKEN"
  /** As BROKEN, but the wait for the answer was abandoned. */
  | "IN_DOUBT"
  /** Closed or lost; final. */
  | "ENDED";

export type Move =
  /** The Make is sent. */
  | "MAKE"
  /** The Make is answered. */
  | "MADE"
  /** A numbered request is sent. */
  | "REQUEST"
  /** It is answered, by a result or an error. */
  | "ANSWER"
  /** The server asks for another number. */
  | "RENUMBER"
  /** The connection breaks. */
  | "CUT"
  /** The same request is sent again. */
  | "REPEAT"
  /** The wait for the answer is abandoned. */
  | "GIVE_UP"
  /** The request is not to be sent again. */
  | "TAKE_BACK"
  /** The session is closed, lost, expired or drained, or was never made. */
  | "END";

export const TRANSITIONS: Record<State, Partial<Record<Move, State>>> = {
  UNMADE: { MAKE: "MAKING", END: "ENDED" },
  MAKING: { MADE: "READY", CUT: "MAKE_BROKEN", END: "ENDED" },
  MAKE_BROKEN: { REPEAT: "MAKING", END: "ENDED" },
  READY: { REQUEST: "AWAITING", END: "ENDED" },
  AWAITING: { ANSWER: "READY", RENUMBER: "AWAITING", CUT: "BROKEN", GIVE_UP: "IN_DOUBT", END: "ENDED" },
  BROKEN: { REPEAT: "AWAITING", GIVE_UP: "IN_DOUBT", END: "ENDED" },
  IN_DOUBT: { REPEAT: "AWAITING", TAKE_BACK: "READY", END: "ENDED" },
  ENDED: {},
};

/** A driver did something out of turn: a fault in envwire, not in the program that uses it. */
export class ProtocolError extends Error {
  override name = "ProtocolError";
}

/** Returns the state after a move. */
export function moved(state: State, move: Move): State {
  const next = TRANSITIONS[state][move];
  if (next === undefined) throw new ProtocolError(`${move} cannot happen to a session that is ${state}`);
  return next;
}
