/** One unary gRPC call for each request. Only the requests themselves hold the session's lease. */

import type { Answer, Request } from "../wire/envelope.js";
import { callUnary, type GrpcConnection } from "./grpc_client.js";
import type { Transport, Wait } from "./transport.js";

export class UnaryTransport implements Transport {
  readonly name = "unary";
  readonly holdsLease = false;

  constructor(readonly connection: GrpcConnection) {}

  exchange({ kind, body }: Request, header: Uint8Array, wait: Wait): Promise<Answer> {
    return callUnary(this.connection, kind, joined(header, body), wait);
  }

  close(): void {}
}

export function joined(header: Uint8Array, body: Uint8Array): Uint8Array {
  const whole = new Uint8Array(header.length + body.length);
  whole.set(header);
  whole.set(body, header.length);
  return whole;
}
