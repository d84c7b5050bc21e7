/** Options of a server. */

import type { TlsOptions } from "../transports/grpc_client.js";

export interface ServeOptions {
  /** Port of gRPC, 50051 by default; 0 for any free one. */
  readonly port?: number;
  /** Address to listen on, loopback by default. Other machines can reach "0.0.0.0"; then also set `token` and `tls`. */
  readonly host?: string;
  /** Port of the direct channel; any free one by default. */
  readonly directPort?: number;
  /** Whether there is a direct channel; true by default. */
  readonly direct?: boolean;
  /** Certificates, as PEM: `cert` and `key`, and `ca` if clients have to show one. */
  readonly tls?: Omit<TlsOptions, "serverName">;
  /** The token that clients have to send, as "authorization: Bearer TOKEN". */
  readonly token?: string;
  /**
   * 64 by default. The gRPC port accepts four connections for each and 256 more, the direct port 256 unauthenticated
   * ones; further connections are closed at once.
   */
  readonly maxSessions?: number;
  /** Environments of one vector environment at most; 1024 by default. */
  readonly maxEnvsPerSession?: number;
  /** Seconds that a session outlives its client, if the client requests no lease; 60 by default. */
  readonly defaultLease?: number;
  /** Maximum lease in seconds; 3600 by default. */
  readonly maxLease?: number;
  /** Seconds that a request may wait asynchronously, 60 by default. A step that computes cannot be stopped. */
  readonly stepTimeout?: number;
  /** Maximum size of a request and of an answer; 256 MiB by default. */
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
