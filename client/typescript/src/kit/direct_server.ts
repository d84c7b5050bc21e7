/** The direct port of a server: TCP or TLS, and an abstract Unix socket where there are such. */

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { DirectConnection, HELLO_MILLISECONDS } from "./direct_connection.js";
import type { Settings } from "./options.js";
import type { Service } from "./service.js";
import type { Session } from "./session.js";

/** Connections that may be open without having said whose they are: those that shake hands, or were refused, as well. */
const MAX_SILENT = 256;
/** After so long without a message, the system asks whether the client's machine is there. */
const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelay: 15_000 };
/** Node 20 fills abstract names up with zeros, to this length: a name that is as long is nobody else's. */
const FULL_NAME = 107;

export class DirectServer {
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  /** Connections that said whose they are. */
  readonly heard = new Set<DirectConnection>();
  /** The channel of each session. */
  readonly channels = new WeakMap<Session, DirectConnection>();

  constructor(
    readonly service: Service,
    readonly settings: Settings,
  ) {}

  /** Listens, and returns the addresses to offer. */
  async listen(): Promise<string[]> {
    const { host, directPort, tls } = this.settings;
    const open = (socket: Socket) => new DirectConnection(this, socket);
    const tcp = createServer({ noDelay: true, ...KEEP_ALIVE }, this.#bounded(opener(tls, open)));
    await this.#listen(tcp, { host, port: directPort });
    const addresses = [`:${(tcp.address() as AddressInfo).port}`];
    if (process.platform !== "linux") return addresses;
    const name = `envwire-${randomBytes(50).toString("hex")}`.slice(0, FULL_NAME);
    await this.#listen(createServer(this.#bounded(open)), { path: `\0${name}` });
    return [`unix-abstract:${name}`, ...addresses];
  }

  async #listen(server: Server, where: { host: string; port: number } | { path: string }): Promise<void> {
    this.#servers.push(server);
    server.listen(where);
    await once(server, "listening");
  }

  /** Returns what takes a connection that was accepted, unless too many have not said whose they are. */
  #bounded(open: (socket: Socket) => void): (socket: Socket) => void {
    return (socket) => {
      if (this.#sockets.size - this.heard.size >= MAX_SILENT) return void socket.destroy();
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      open(socket);
    };
  }

  close(): void {
    for (const server of this.#servers) server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** Returns what opens a connection, behind a handshake where there is TLS. */
function opener(tls: Settings["tls"], open: (socket: Socket) => void): (socket: Socket) => void {
  if (tls === undefined) return open;
  const { ca, cert, key } = tls;
  const options = { ca, cert, key, requestCert: ca !== undefined, handshakeTimeout: HELLO_MILLISECONDS };
  const shaking = createTlsServer(options as TlsOptions, open);
  return (socket) => shaking.emit("connection", socket);
}
