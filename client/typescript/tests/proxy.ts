/** A TCP proxy that cuts a connection at the next chunk it is told to lose. It listens at 127.0.0.2, on the ports of the server. */

import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** Which way a chunk goes that is lost. */
export type Way = "request" | "answer";

export class CuttingProxy {
  readonly #pairs = new Set<[Socket, Socket]>();
  readonly #servers: ReturnType<typeof createServer>[] = [];
  #cutting: Way | undefined;
  cuts = 0;

  async forward(port: number): Promise<void> {
    const server = createServer({ noDelay: true }, (outer) =>
      this.#join(outer, connect({ port, host: "127.0.0.1", noDelay: true })),
    );
    this.#servers.push(server);
    server.listen(port, "127.0.0.2");
    await once(server, "listening");
  }

  #join(outer: Socket, inner: Socket): void {
    const pair: [Socket, Socket] = [outer, inner];
    this.#pairs.add(pair);
    this.#pass(outer, inner, "request");
    this.#pass(inner, outer, "answer");
    outer.on("close", () => this.#pairs.delete(pair));
  }

  #pass(from: Socket, to: Socket, way: Way): void {
    from.on("error", () => to.destroy());
    from.on("close", () => to.destroy());
    from.on("data", (chunk) => {
      if (this.#cutting === way) this.#cut(from, to);
      else to.write(chunk);
    });
  }

  #cut(...pair: Socket[]): void {
    this.#cutting = undefined;
    this.cuts += 1;
    for (const each of pair) each.resetAndDestroy();
  }

  /** Loses the next chunk that goes this way, and resets its connection. */
  cutNext(way: Way): void {
    this.#cutting = way;
  }

  close(): void {
    for (const server of this.#servers) server.close();
    for (const [outer, inner] of this.#pairs) for (const each of [outer, inner]) each.destroy();
  }
}
