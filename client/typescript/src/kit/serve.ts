/** Serving environments: `serve({ "Counter-v0": () => new Counter() }, { port: 50051 })`. */

import { DirectServer } from "./direct_server.js";
import type { Registry } from "./environment.js";
import { GrpcServer } from "./grpc_server.js";
import { DEFAULTS, type ServeOptions, type Settings } from "./options.js";
import { Service } from "./service.js";

/** A server that listens. */
export interface RunningServer extends AsyncDisposable {
  /** HOST:PORT of gRPC. */
  readonly target: string;
  readonly port: number;
  /** Ends all sessions and stops listening. */
  close(): Promise<void>;
}

/**
 * Serves environments to clients in any language.
 *
 * Everything runs in this process: a step that computes for long delays all sessions, and one that crashes the process
 * ends them all. Run a separate server for each environment that must not affect others.
 *
 * @param registry Functions that make environments, by id. Each session gets a separate environment.
 */
export async function serve(registry: Registry, options: ServeOptions = {}): Promise<RunningServer> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const settings: Settings = { ...DEFAULTS, ...Object.fromEntries(given) };
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
