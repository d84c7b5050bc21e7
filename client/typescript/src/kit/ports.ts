/** Ports with a bound on their connections: further ones are closed at once. */

import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";

/** Time without a message after which the system probes the client's machine. */
const OPTIONS = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 15_000 };

export class Ports {
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();

  /** @param full Whether a further connection exceeds the bound, given the number of open ones. */
  constructor(readonly full: (open: number) => boolean) {}

  /** Listens, passes on accepted connections, and returns the port. */
  async listen(
    where: { host: string; port: number } | { path: string },
    open: (socket: Socket) => void,
  ): Promise<number> {
    const server = createServer(OPTIONS, (socket) => {
      if (this.full(this.#sockets.size)) return void socket.destroy();
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      open(socket);
    });
    this.#servers.push(server);
    server.listen(where);
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  }

  /** Ends all connections, and returns when the port is closed. */
  async close(): Promise<void> {
    const closed = this.#servers.map((server) => new Promise((done) => server.close(done)));
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(closed);
  }
}
