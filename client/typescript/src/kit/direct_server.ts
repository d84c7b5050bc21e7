/** The direct port of a server: TCP or TLS, and an abstract Unix socket if the system has them. */

import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { DirectConnection, HELLO_MILLISECONDS, type ServerOfConnections } from "./direct_connection.js";
import type { LentConnections } from "./lent_connections.js";
import type { Settings } from "./options.js";
import { Ports } from "./ports.js";
import type { Service } from "./service.js";
import type { Session } from "./session.js";

/** Maximum number of open unauthenticated connections, including those in a handshake and refused ones. */
export const MAX_SILENT = 256;
/** Node 20 pads abstract names with zeros to this length, so the names have the full length. */
const FULL_NAME = 107;

export class DirectServer implements ServerOfConnections {
  readonly #ports = new Ports((open) => open - this.heard.size >= MAX_SILENT);
  readonly heard = new Set<DirectConnection>();
  readonly channels = new WeakMap<Session, DirectConnection>();

  constructor(
    readonly service: Service,
    readonly settings: Settings,
    readonly lent?: LentConnections,
  ) {}

  /** Listens, and returns the addresses to offer. */
  async listen(): Promise<string[]> {
    const { host, directPort, tls } = this.settings;
    const open = (socket: Socket) => new DirectConnection(this, socket);
    const port = await this.#ports.listen({ host, port: directPort }, opener(tls, open));
    const addresses = [`:${port}`];
    if (process.platform !== "linux") return addresses;
    const name = `envwire-${randomBytes(50).toString("hex")}`.slice(0, FULL_NAME);
    await this.#ports.listen({ path: `\0${name}` }, open);
    return [`unix-abstract:${name}`, ...addresses];
  }

  close(): Promise<void> {
    return this.#ports.close();
  }
}

/** Returns the function that opens a connection, after the handshake if there is TLS. */
function opener(tls: Settings["tls"], open: (socket: Socket) => void): (socket: Socket) => void {
  if (tls === undefined) return open;
  const { ca, cert, key } = tls;
  const options = { ca, cert, key, requestCert: ca !== undefined, handshakeTimeout: HELLO_MILLISECONDS };
  const shaking = createTlsServer(options as TlsOptions, open);
  return (socket) => shaking.emit("connection", socket);
}
