/** Serves a recording: the requests of a lost session, whose client continues here. */

import { create, toBinary } from "@bufbuild/protobuf";
import { ReplayRequestSchema, ReplayResponseSchema } from "../../gen/envwire/v1/environment_pb.js";
import { type Answer, type Request, unwrap } from "../../wire/envelope.js";
import type { Kind } from "../../wire/kinds.js";
import { Fault } from "../faults.js";
import type { Hosted, MemberStarts } from "../hosting/hosted_env.js";
import { parseRequest, reading, takeHeader } from "../request_fields.js";
import { RollingDigest } from "./digest.js";

/** A recording that takes longer is answered in parts, so that no deadline ends the session over it. */
const PART_MILLISECONDS = 2_000;

const RECORDED: ReadonlySet<Kind | "error"> = new Set<Kind>([
  "reset",
  "step",
  "render",
  "setAttribute",
  "callMethod",
  "saveState",
  "restoreState",
]);

export class Replaying {
  #digest = new RollingDigest();
  #starts: MemberStarts = new Map();

  /** @param serve Serves a request as if it were sent separately; an error is an answer. */
  constructor(
    readonly hosted: Hosted,
    readonly serve: (request: Request) => Answer | Promise<Answer>,
    readonly now: () => number,
  ) {}

  /** Serves as much of a ReplayRequest as two seconds allow, and returns the body of its answer. */
  async apply(body: Uint8Array): Promise<Uint8Array> {
    const { requests, position, unseen, memberStarts } = parseRequest(ReplayRequestSchema, body);
    const until = this.now() + PART_MILLISECONDS;
    this.#begin(Number(position));
    if (memberStarts.length > 0) this.#starts = new Map(memberStarts.map((start) => [start.member, start]));
    const digest = this.#digest;
    const told = digest.checkpoints.length;
    const passedOver = new Set(unseen.map(Number));
    for (const recorded of requests) {
      const answer = await this.#serveNext(requestOf(recorded));
      digest.add(passedOver.has(digest.count) ? undefined : answer);
      if (this.now() > until) break;
    }
    const served = BigInt(digest.count);
    const checkpoints = digest.checkpoints.slice(told);
    const response = create(ReplayResponseSchema, { served, checkpoints, digest: digest.value() });
    return toBinary(ReplayResponseSchema, response);
  }

  #begin(position: number): void {
    if (position === 0) {
      this.#digest = new RollingDigest();
      this.#starts = new Map();
    }
    const { count } = this.#digest;
    if (position !== count)
      throw new Fault("INVALID_VALUE", `a recording goes on at ${count}, or begins again at 0`);
  }

  async #serveNext(request: Request): Promise<Answer> {
    this.hosted.takePart(this.#starts, this.#digest.count);
    try {
      return await this.serve(request);
    } finally {
      this.hosted.takePart(new Map(), 0);
    }
  }
}

function requestOf(recorded: Uint8Array): Request {
  const request = reading(() => unwrap(recorded), "INVALID_VALUE");
  if (request === undefined || !RECORDED.has(request.kind))
    throw new Fault("INVALID_VALUE", `${request?.kind ?? "an empty request"} is not recorded`);
  return { kind: request.kind as Kind, body: takeHeader(request.body).body };
}
