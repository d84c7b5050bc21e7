/** How a server is set up. */

import type { TlsOptions } from "../transports/grpc_client.js";

export interface ServeOptions {
  /** Port of gRPC; 0 for any free one. */
  readonly port?: number;
  /** Address to listen on. Others than this machine reach "0.0.0.0"; give them a `token` and `tls` then. */
  readonly host?: string;
  /** Port of the direct channel; 0 for any free one. */
  readonly directPort?: number;
  /** Whether there is a direct channel. */
  readonly direct?: boolean;
  /** Certificates, as PEM: `cert` and `key`, and `ca` where clients have to show one. */
  readonly tls?: Omit<TlsOptions, "serverName">;
  /** What clients have to show, as "authorization: Bearer TOKEN". */
  readonly token?: string;
  readonly maxSessions?: number;
  /** Environments of one vector environment at most. */
  readonly maxEnvsPerSession?: number;
  /** Seconds that a session outlives its client, when the client does not say; and at most. */
  readonly defaultLease?: number;
  readonly maxLease?: number;
  /** Seconds that a request may wait for something. Nothing here can stop a step that computes. */
  readonly stepTimeout?: number;
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
