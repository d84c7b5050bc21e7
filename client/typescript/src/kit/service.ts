/** The service: every request of the contract, over every transport. */

import { randomUUID } from "node:crypto";
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  GetServerInfoResponseSchema,
  GetSessionStatsResponseSchema,
  ListEnvironmentsResponseSchema,
  RenewLeaseResponseSchema,
} from "../gen/envwire/v1/environment_pb.js";
import type { Answer, Request } from "../wire/envelope.js";
import type { Kind } from "../wire/kinds.js";
import type { Registry } from "./environment.js";
import { errorAnswer, faultOf } from "./faults.js";
import { Maker, type MakingServer } from "./maker.js";
import type { Settings } from "./options.js";
import { duration, takeHeader } from "./request_fields.js";
import type { Used } from "./session.js";
import { SessionTable } from "./session_table.js";

const VERSION = "0.1.0";

export class Service implements MakingServer {
  readonly sessions: SessionTable;
  readonly incarnation = randomUUID().replaceAll("-", "");
  readonly maker: Maker;
  draining = false;

  constructor(
    readonly registry: Registry,
    readonly settings: Settings,
  ) {
    this.sessions = new SessionTable(settings);
    this.maker = new Maker(this);
  }

  /** Serves a request; errors are in the answer. */
  async serve({ kind, body }: Request, used: Used = () => undefined): Promise<Answer> {
    try {
      const control = this.#control[kind];
      if (control !== undefined) return { kind, body: await control(body, used) };
      const headed = takeHeader(body);
      const session = this.sessions.find(headed.header);
      used(session);
      return await session.serve({ kind, body: headed.body });
    } catch (thrown) {
      return errorAnswer(faultOf(thrown));
    }
  }

  /** The requests that belong to no session. */
  readonly #control: Partial<
    Record<Kind, (body: Uint8Array, used: Used) => Uint8Array | Promise<Uint8Array>>
  > = {
    make: (body, used) => this.maker.make(body, used),
    listEnvironments: () => this.#list(),
    getServerInfo: () => this.#info(),
    renewLease: (body) => {
      const session = this.sessions.findLive(takeHeader(body).header);
      session.touch();
      return message(RenewLeaseResponseSchema, { lease: duration(session.lease) });
    },
    getSessionStats: (body) => {
      const { requests } = this.sessions.findLive(takeHeader(body).header);
      return message(GetSessionStatsResponseSchema, { requests: BigInt(requests) });
    },
  };

  #list(): Uint8Array {
    const environments = Object.keys(this.registry)
      .sort()
      .map((id) => ({ library: "envwire", spec: { id, orderEnforce: true } }));
    return message(ListEnvironmentsResponseSchema, { environments });
  }

  #info(): Uint8Array {
    const { settings, incarnation, draining } = this;
    return message(GetServerInfoResponseSchema, {
      version: VERSION,
      capabilities: [
        "interact",
        "replay",
        "save_state",
        "vector",
        ...(settings.direct ? ["direct", "make"] : []),
      ],
      maxSessions: settings.maxSessions,
      activeSessions: this.sessions.size,
      incarnation,
      libraries: [{ name: "envwire", version: VERSION }],
      defaultLease: duration(settings.defaultLease * 1000),
      maxLease: duration(settings.maxLease * 1000),
      stepTimeout: duration(settings.stepTimeout * 1000),
      maxMessageBytes: BigInt(settings.maxMessageBytes),
      draining,
      cpuCount: 1,
      maxEnvsPerSession: settings.maxEnvsPerSession,
    });
  }
}

function message<Schema extends DescMessage>(schema: Schema, fields: MessageInitShape<Schema>): Uint8Array {
  return toBinary(schema, create(schema, fields));
}
