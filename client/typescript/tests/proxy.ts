/** A TCP proxy that cuts its connections when it is told to. It listens at 127.0.0.2, on the ports of the server. */

import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import type { Generator } from "../src/index.js";

export class CuttingProxy {
  readonly #pairs = new Set<[Socket, Socket]>();
  readonly #servers: ReturnType<typeof createServer>[] = [];
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
    for (const [one, other] of [pair, [inner, outer]] as const) {
      one.on("error", () => other.destroy());
      one.on("close", () => {
        other.destroy();
        this.#pairs.delete(pair);
      });
      one.pipe(other);
    }
  }

  /** Resets one connection, chosen at random. */
  cutOne(random: Generator): void {
    const pairs = [...this.#pairs];
    const pair = pairs.length > 0 ? pairs[random.integers(0, pairs.length)] : undefined;
    for (const each of pair ?? []) each.resetAndDestroy();
    if (pair !== undefined) this.cuts += 1;
  }

  close(): void {
    for (const server of this.#servers) server.close();
    for (const [outer, inner] of this.#pairs) for (const each of [outer, inner]) each.destroy();
  }
}
