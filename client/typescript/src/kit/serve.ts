/** Serving environments: `serve({ "Counter-v0": () => new Counter() }, { port: 50051 })`. */

import { Socket } from "node:net";
import { LONGEST_TIMER } from "../transports/waiting.js";
import { DirectConnection } from "./direct_connection.js";
import { DirectServer } from "./direct_server.js";
import type { Registry } from "./environment.js";
import { GrpcServer } from "./grpc_server.js";
import { LentConnections } from "./lent_connections.js";
import { DEFAULTS, type ServeOptions, type Settings } from "./options.js";
import { Service } from "./service.js";

/** Names the socket that the server hands over when it runs this program with `--exec`. */
const CHANNEL = "ENVWIRE_CHANNEL";

/** A server that listens. */
export interface RunningServer extends AsyncDisposable {
  /** HOST:PORT of gRPC; empty for a program of `envwire serve --exec`. */
  readonly target: string;
  /** 0 for a program of `envwire serve --exec`. */
  readonly port: number;
  /** Ends all sessions and stops listening. */
  close(): Promise<void>;
}

/**
 * Serves environments to clients in any language.
 *
 * Everything runs in this process: a step that computes for long delays all sessions, and one that crashes the process
 * ends them all. `envwire serve --exec 'node program.js' ID` runs this program once for each session instead, on a socket
 * that the program inherits; options of ports, access and time then have no effect.
 *
 * @param registry Functions that make environments, by id. Each session gets a separate environment.
 */
export async function serve(registry: Registry, options: ServeOptions = {}): Promise<RunningServer> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const settings: Settings = { ...DEFAULTS, ...Object.fromEntries(given) };
  const inherited = process.env[CHANNEL];
  if (inherited !== undefined) return serveInherited(registry, settings, Number(inherited));
  const service = new Service(registry, settings);
  const grpc = new GrpcServer(service, settings);
  const direct = settings.direct ? new DirectServer(service, settings) : undefined;
  const close = async () => {
    service.draining = true;
    grpc.drain();
    service.sessions.close("DRAINING");
    await Promise.all([direct?.close(), grpc.close()]);
  };
  try {
    service.maker.directAddresses = (await direct?.listen()) ?? [];
    const port = await grpc.listen();
    return { target: `${settings.host}:${port}`, port, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Serves the one session of the server that started this program. */
function serveInherited(registry: Registry, settings: Settings, fd: number): RunningServer {
  delete process.env[CHANNEL]; // programs that the environment starts have no part in it
  const { token: _, ...others } = settings;
  const own: Settings = { ...others, direct: false, stepTimeout: LONGEST_TIMER / 1000 }; // the server's holds
  const service = new Service(registry, own);
  const socket = new Socket({ fd, readable: true, writable: true });
  const lent = LentConnections.fromEnvironment();
  const connection = new DirectConnection(new DirectServer(service, own, lent), socket);
  socket.on("close", () => service.sessions.close("SESSION_CLOSED"));
  const close = async () => connection.close();
  return { target: "", port: 0, close, [Symbol.asyncDispose]: close };
}
