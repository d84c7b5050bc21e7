/** Make: creates a session from a request, and its answer. */

import { create, toBinary } from "@bufbuild/protobuf";
import {
  type MakeRequest,
  MakeRequestSchema,
  type MakeResponse,
  MakeResponseSchema,
} from "../gen/envwire/v1/environment_pb.js";
import { seconds } from "../session/client_session.js";
import { encodeSpace } from "../spaces/encoding.js";
import { toMapMessage, toMessage } from "../values/messages.js";
import { Float, tuple } from "../values/types.js";
import type { Environment, Registry } from "./environment.js";
import { Fault, faultOf } from "./faults.js";
import { type Hosted, HostedEnv } from "./hosting/hosted_env.js";
import { HostedVector } from "./hosting/hosted_vector.js";
import { receivedMapping } from "./hosting/received.js";
import { VectorEnvironment } from "./hosting/vector_environment.js";
import type { Settings } from "./options.js";
import { duration, parseRequest } from "./request_fields.js";
import type { Session, Used } from "./session.js";
import type { SessionTable } from "./session_table.js";

/** Maximum number of stored Makes. A Make is stored for repeats until its session serves a request. */
const MAX_KEPT = 4096;

interface KeptMake {
  readonly request: Uint8Array;
  readonly answer: Promise<{ session: Session; body: Uint8Array }>;
}

/** What a Make needs of its server. */
export interface MakingServer {
  readonly registry: Registry;
  readonly settings: Settings;
  readonly sessions: SessionTable;
  readonly incarnation: string;
  readonly draining: boolean;
}

export class Maker {
  /** Addresses of the direct channel, once it listens. */
  directAddresses: readonly string[] = [];
  readonly #kept = new Map<string, KeptMake>();

  constructor(readonly server: MakingServer) {}

  /** Makes a session, or joins the Make that the same client asked for before. */
  async make(body: Uint8Array, used: Used): Promise<Uint8Array> {
    const request = parseRequest(MakeRequestSchema, body);
    const id = Buffer.from(request.requestId).toString("hex");
    const kept = id === "" ? undefined : this.#kept.get(id);
    if (kept !== undefined && Buffer.compare(kept.request, body) !== 0)
      throw new Fault("REQUEST_ID_REUSED", "the request id belongs to another Make");
    const answer = kept?.answer ?? this.#made(request);
    if (kept === undefined && id !== "") this.#keep(id, { request: body.slice(), answer });
    const made = await answer;
    used(made.session);
    return made.body;
  }

  #keep(id: string, make: KeptMake): void {
    this.#forgetServed();
    this.#kept.set(id, make);
    make.answer.catch(() => this.#kept.delete(id)); // failures are not kept
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }

  /** Forgets the makes whose answers have arrived: their sessions served a request, or ended. */
  #forgetServed(): void {
    for (const [id, { answer }] of this.#kept) {
      answer.then(
        ({ session }) => (session.requests > 0 || session.ended) && this.#kept.delete(id),
        () => undefined,
      );
    }
  }

  async #made(request: MakeRequest): Promise<{ session: Session; body: Uint8Array }> {
    if (this.server.draining) throw new Fault("DRAINING", "the server stops and takes no new sessions");
    const session = await this.server.sessions.open(() => this.#hosted(request), seconds(request.lease));
    return { session, body: toBinary(MakeResponseSchema, this.#response(session, request)) };
  }

  async #hosted(request: MakeRequest): Promise<Hosted> {
    this.#check(request);
    const make = () => this.#environment(request);
    try {
      if (request.vector === undefined) return new HostedEnv(await make(), request.renderMode);
      return new HostedVector(await VectorEnvironment.of(request.vector, request.renderMode, make));
    } catch (thrown) {
      throw faultOf(thrown);
    }
  }

  /** Refuses features that this kit does not have. */
  #check({ envId, library, wrappers, copyOf, vector }: MakeRequest): void {
    const { registry, settings } = this.server;
    if (copyOf !== undefined) throw new Fault("UNSUPPORTED", "this server makes no copies");
    if (!Object.hasOwn(registry, envId) || (library !== "" && library !== "envwire"))
      throw new Fault("UNKNOWN_ENVIRONMENT", `the server makes no environment ${library}:${envId}`);
    const [wrapper] = wrappers;
    if (wrapper !== undefined)
      throw new Fault("WRAPPER_NOT_ALLOWED", `this server has no wrapper ${wrapper.name}`);
    if (vector !== undefined && (vector.memberKwargs.length > 0 || vector.observationMode === "different"))
      throw new Fault("UNSUPPORTED", "this server makes vector environments of equal members only");
    if (vector !== undefined && vector.numEnvs > settings.maxEnvsPerSession)
      throw new Fault("CAPACITY_REACHED", `a session has at most ${settings.maxEnvsPerSession} environments`);
  }

  async #environment({ envId, renderMode, kwargs }: MakeRequest): Promise<Environment> {
    const make = this.server.registry[envId] as NonNullable<(typeof this.server.registry)[string]>;
    const env = await make({ renderMode, kwargs: receivedMapping(kwargs) });
    const modes = (env.metadata as Record<string, unknown> | undefined)?.["render_modes"];
    if (renderMode === undefined || (Array.isArray(modes) && modes.includes(renderMode))) return env;
    await env.close?.();
    throw new Fault("INVALID_VALUE", `${envId} has no render mode "${renderMode}"`);
  }

  #response(session: Session, { envId, renderMode, kwargs }: MakeRequest): MakeResponse {
    const { env } = session.hosted;
    const [lowest, highest] = env.rewardRange ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
    const response = create(MakeResponseSchema, {
      sessionId: session.id,
      secret: session.secret,
      library: "envwire",
      observationSpace: encodeSpace(env.observationSpace),
      actionSpace: encodeSpace(env.actionSpace),
      metadata: toMapMessage(env.metadata ?? { render_modes: [] }),
      rewardRange: toMessage(tuple(new Float(lowest), new Float(highest))),
      spec: { id: envId, orderEnforce: true, ...(kwargs && { kwargs }) },
      lease: duration(session.lease),
      stepTimeout: duration(session.stepTimeout),
      description: `<${env.constructor.name}<${envId}>>`,
      capabilities: session.hosted.capabilities,
      incarnation: this.server.incarnation,
    });
    if (renderMode !== undefined) response.renderMode = renderMode;
    if (this.directAddresses.length > 0)
      response.direct = { $typeName: "envwire.v1.DirectChannel", addresses: [...this.directAddresses] };
    if (env instanceof VectorEnvironment) response.vector = env.info();
    return response;
  }
}
