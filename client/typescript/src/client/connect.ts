/** The entry point: `connect(target)`, then `make`. */

import { create, toBinary } from "@bufbuild/protobuf";
import { EnvwireError, parseAnswer, readAnswer } from "../errors.js";
import {
  type EnvironmentListing,
  GetServerInfoRequestSchema,
  type GetServerInfoResponse,
  GetServerInfoResponseSchema,
  ListEnvironmentsRequestSchema,
  ListEnvironmentsResponseSchema,
  type MakeRequest,
  MakeRequestSchema,
  type MakeResponse,
  VectorRequestSchema,
} from "../gen/envwire/v1/environment_pb.js";
import { ClientSession } from "../session/client_session.js";
import { isHostPort } from "../transports/addresses.js";
import { type Compression, DirectTransport } from "../transports/direct.js";
import { bodyOf, type Credentials, GrpcConnection } from "../transports/grpc_client.js";
import { StreamTransport } from "../transports/stream.js";
import type { Transport } from "../transports/transport.js";
import { UnaryTransport } from "../transports/unary.js";
import { ValueError } from "../values/encoding.js";
import { toMapMessage } from "../values/messages.js";
import type { Mapping, Value } from "../values/types.js";
import type { CallOptions } from "./driver.js";
import { Driver } from "./driver.js";
import { RemoteEnv } from "./env.js";
import { type Connection, closeSession } from "./remote.js";
import { RemoteVectorEnv } from "./vector_env.js";

export interface ConnectOptions extends Credentials {
  /**
   * "auto" uses the direct channel, or the stream if there is none. "direct" uses only the direct channel, as does
   * "direct-tcp", without Unix sockets. "stream" and "unary" use gRPC.
   */
  readonly transport?: "auto" | "direct" | "direct-tcp" | "stream" | "unary";
  /** Seconds to wait for any answer; absent for slightly more than the server's own limit. */
  readonly timeout?: number | undefined;
  /**
   * Whether the server may compress arrays on a direct channel, which takes Node.js 22.15. "auto", if absent: large
   * ones on the way to another machine, where they then arrive sooner. "zstd": wherever they become smaller.
   */
  readonly compression?: Compression;
}

export interface MakeOptions extends CallOptions {
  readonly renderMode?: string | undefined;
  /** Further arguments of the environment. */
  readonly kwargs?: Mapping;
  /** Wrappers, innermost first: names, or names with arguments. */
  readonly wrappers?: readonly (string | { readonly name: string; readonly kwargs?: Mapping })[];
  /** Seconds that the session outlives its connection. */
  readonly lease?: number;
  /** The library to take the environment from; absent for any. */
  readonly library?: string;
}

export interface MakeVectorOptions extends MakeOptions {
  /** "sync", or "vector_entry_point" for the environment's own vectorised form. */
  readonly vectorizationMode?: string;
  /** "NEXT_STEP" (the default), "SAME_STEP" or "DISABLED". */
  readonly autoresetMode?: string;
}

/** Seconds to wait for a server's information. */
const INFO_SECONDS = 60;
/** Seconds in which an advertised address has to answer; otherwise the session stays at the address that made it. */
const ADVERTISED_SECONDS = 1;
/** The longest duration of protobuf in seconds, some 10,000 years. */
const LONGEST_DURATION = 315_576_000_000;
const NO_HEADER = new Uint8Array(0);

/** Names a server. The connection is opened when it is first needed. @param target HOST:PORT, or any gRPC name. */
export function connect(target: string, options: ConnectOptions = {}): Server {
  return new Server(target, options);
}

/** A server on which environments are made. */
export class Server {
  constructor(
    readonly target: string,
    readonly options: ConnectOptions,
  ) {}

  /** Makes an environment in a new session. */
  async make<Observation = Value, Info = Mapping>(
    id: string,
    options: MakeOptions = {},
  ): Promise<RemoteEnv<Observation, Info>> {
    return this.#open(makeRequest(id, options), options, (connection) => new RemoteEnv(connection));
  }

  /** Makes `numEnvs` environments that step together in one session, with one message for all of them. */
  async makeVector<Observation = Value, Info = Mapping>(
    id: string,
    numEnvs: number,
    options: MakeVectorOptions = {},
  ): Promise<RemoteVectorEnv<Observation, Info>> {
    const { vectorizationMode = "", autoresetMode = "" } = options;
    const request = makeRequest(id, options);
    const vector = create(VectorRequestSchema, { numEnvs, vectorizationMode, autoresetMode });
    return this.#open({ ...request, vector }, options, (connection) => {
      if (connection.made.vector !== undefined) return new RemoteVectorEnv(connection);
      throw new EnvwireError("UNSUPPORTED", `${this.target} makes no vector environments`);
    });
  }

  /** Version, capabilities, capacity and limits of the server. */
  async info(options: CallOptions = {}): Promise<GetServerInfoResponse> {
    const body = toBinary(GetServerInfoRequestSchema, create(GetServerInfoRequestSchema));
    return parseAnswer(GetServerInfoResponseSchema, await this.#ask("getServerInfo", body, options));
  }

  /** The environments that the server makes. */
  async environments(options: CallOptions = {}): Promise<EnvironmentListing[]> {
    const body = toBinary(ListEnvironmentsRequestSchema, create(ListEnvironmentsRequestSchema));
    const answer = await this.#ask("listEnvironments", body, options);
    return parseAnswer(ListEnvironmentsResponseSchema, answer).environments;
  }

  async #ask(
    kind: "getServerInfo" | "listEnvironments",
    body: Uint8Array,
    options: CallOptions,
  ): Promise<Uint8Array> {
    const connection = new GrpcConnection(this.target, this.options);
    try {
      const timeout = (options.timeout ?? this.options.timeout ?? INFO_SECONDS) * 1000;
      const unary = new UnaryTransport(connection);
      const answer = await unary.exchange({ kind, body }, NO_HEADER, { timeout, signal: options.signal });
      return bodyOf(answer);
    } finally {
      connection.close();
    }
  }

  /** Opens a session and returns the result of `use` for it; if `use` fails, the session is closed. */
  async #open<Env>(
    request: MakeRequest,
    options: CallOptions,
    use: (connection: Connection) => Env,
  ): Promise<Env> {
    const maker = new GrpcConnection(this.target, this.options);
    const session = new ClientSession(options.timeout ?? this.options.timeout);
    let control = new UnaryTransport(maker);
    const driver = new Driver(session, control);
    try {
      const made = await driver.make(request, options);
      const home = await this.#advertised(made);
      if (home !== undefined) {
        maker.close();
        driver.transport = control = new UnaryTransport(home);
      }
      driver.transport = await this.#transport(made, control);
      return readAnswer(() => use({ driver, made, control }));
    } catch (error) {
      await closeSession(driver, control);
      throw error;
    }
  }

  /** Returns a connection to the session's advertised address, if the same server answers there. */
  async #advertised(made: MakeResponse): Promise<GrpcConnection | undefined> {
    if (made.address === this.target || made.incarnation === "" || !isHostPort(made.address))
      return undefined;
    const there = new Server(made.address, this.options);
    const info = await there.info({ timeout: ADVERTISED_SECONDS }).catch(() => undefined);
    if (info === undefined || info.incarnation !== made.incarnation) return undefined;
    return new GrpcConnection(made.address, this.options);
  }

  async #transport(made: MakeResponse, control: UnaryTransport): Promise<Transport> {
    const { transport = "auto", compression } = this.options;
    if (transport === "unary") return control;
    const stream = new StreamTransport(control.connection);
    if (transport === "stream") return stream;
    const unix = transport !== "direct-tcp";
    const direct = new DirectTransport(this.target, made, this.options, control, unix, compression);
    if (await direct.open()) return direct;
    if (transport === "auto") return stream;
    throw new EnvwireError("UNAVAILABLE", `no direct channel to ${this.target}; try transport: "auto"`);
  }
}

function makeRequest(id: string, options: MakeOptions): MakeRequest {
  const { renderMode, kwargs, wrappers = [], lease, library = "" } = options;
  const request = create(MakeRequestSchema, { envId: id, library, wrappers: wrappers.map(wrapper) });
  if (renderMode !== undefined) request.renderMode = renderMode;
  if (kwargs !== undefined) request.kwargs = toMapMessage(kwargs, "kwargs");
  if (lease !== undefined) request.lease = duration(lease);
  return request;
}

function wrapper(given: string | { readonly name: string; readonly kwargs?: Mapping }) {
  if (typeof given === "string") return { name: given };
  return { name: given.name, kwargs: toMapMessage(given.kwargs ?? {}, `kwargs of ${given.name}`) };
}

function duration(given: number) {
  if (!(given >= 0)) throw new ValueError("lease", `is ${given}; give 0 seconds or more`);
  const seconds = Math.min(given, LONGEST_DURATION);
  const whole = Math.trunc(seconds);
  const nanos = Math.floor((seconds - whole) * 1e9);
  return { $typeName: "google.protobuf.Duration", seconds: BigInt(whole), nanos } as const;
}
