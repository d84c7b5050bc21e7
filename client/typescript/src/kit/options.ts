/** How a server is set up. */

import type { TlsOptions } from "../transports/grpc_client.js";

export interface ServeOptions {
  /** Port of gRPC, 50051 by default; 0 for any free one. */
  readonly port?: number;
  /** Address to listen on, this machine's own by default. Others than this machine reach "0.0.0.0"; give them a `token` and `tls` then. */
  readonly host?: string;
  /** Port of the direct channel; any free one by default. */
  readonly directPort?: number;
  /** Whether there is a direct channel, as by default. */
  readonly direct?: boolean;
  /** Certificates, as PEM: `cert` and `key`, and `ca` where clients have to show one. */
  readonly tls?: Omit<TlsOptions, "serverName">;
  /** What clients have to show, as "authorization: Bearer TOKEN". */
  readonly token?: string;
  /**
   * 64 by default. The gRPC port takes four connections for each and 256 besides, the direct port 256 that have not said
   * whose they are; those beyond are closed at once.
   */
  readonly maxSessions?: number;
  /** Environments of one vector environment at most; 1024 by default. */
  readonly maxEnvsPerSession?: number;
  /** Seconds that a session outlives its client, when the client does not say; 60 by default. */
  readonly defaultLease?: number;
  /** The same, at most; 3600 by default. */
  readonly maxLease?: number;
  /** Seconds that a request may wait for something, 60 by default. Nothing here can stop a step that computes. */
  readonly stepTimeout?: number;
  /** Of a request and of an answer; 256 MiB by default. */
  readonly maxMessageBytes?: number;
}

export type Settings = Required<Omit<ServeOptions, "tls" | "token">> & Pick<ServeOptions, "tls" | "token">;

export const DEFAULTS: Settings = {
  port: 50051,
  host: "127.0.0.1",
  directPort: 0,
  direct: true,
  maxSessions: 64,
  maxEnvsPerSession: 1024,
  defaultLease: 60,
  maxLease: 3600,
  stepTimeout: 60,
  maxMessageBytes: 256 * 1024 * 1024,
};
