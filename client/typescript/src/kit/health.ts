/** grpc.health.v1.Health: SERVING, then NOT_SERVING from the start of draining. */

import type { ServerUnaryCall, ServerWritableStream, ServiceDefinition, sendUnaryData } from "@grpc/grpc-js";
import { status } from "@grpc/grpc-js";
import { SERVICE } from "../wire/kinds.js";
import { Reader } from "../wire/reader.js";

const SERVING = Buffer.of(0x08, 1);
const NOT_SERVING = Buffer.of(0x08, 2);
const bytes = (buffer: Buffer) => buffer;

const method = (name: string, responseStream: boolean) => ({
  path: `/grpc.health.v1.Health/${name}`,
  requestStream: false,
  responseStream,
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes,
});

export const HEALTH_SERVICE: ServiceDefinition = {
  check: method("Check", false),
  watch: method("Watch", true),
};

export class Health {
  #state = SERVING;
  readonly #watchers = new Set<ServerWritableStream<Buffer, Buffer>>();

  readonly check = (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>): void => {
    if (known(call.request)) answer(null, this.#state);
    else answer({ code: status.NOT_FOUND, details: "no such service" });
  };

  readonly watch = (call: ServerWritableStream<Buffer, Buffer>): void => {
    this.#watchers.add(call);
    call.on("cancelled", () => this.#watchers.delete(call));
    call.write(this.#state);
  };

  drain(): void {
    this.#state = NOT_SERVING;
    for (const watcher of this.#watchers) {
      watcher.write(NOT_SERVING);
      watcher.end();
    }
  }
}

/** Whether a HealthCheckRequest asks for the server, or for its service. */
function known(request: Buffer): boolean {
  let service = "";
  const reader = new Reader(request);
  while (reader.more) {
    const tag = reader.varint();
    if (tag === 0x0a) service = reader.text();
    else reader.skip(tag);
  }
  return service === "" || service === SERVICE;
}
