/** One stream (Interact) for all requests of a session, which holds its lease while it is open. */

import type { Client, ClientDuplexStream, ServiceError } from "@grpc/grpc-js";
import { ConnectionError } from "../errors.js";
import { type Answer, answerTo, type Request, wrap } from "../wire/envelope.js";
import { type Kind, SERVICE } from "../wire/kinds.js";
import { fromBuffer, type GrpcConnection, settleError, toBuffer } from "./grpc_client.js";
import type { Transport, Wait } from "./transport.js";
import { Waiting } from "./waiting.js";

type Stream = ClientDuplexStream<Uint8Array, Uint8Array>;

export class StreamTransport implements Transport {
  readonly name = "stream";
  #stream: Stream | undefined;
  #waiting: Waiting<Answer> | undefined;
  #timeout = 0;
  #asked: Kind = "step";

  constructor(readonly connection: GrpcConnection) {}

  get holdsLease(): boolean {
    return this.#stream !== undefined;
  }

  exchange({ kind, body }: Request, header: Uint8Array, wait: Wait): Promise<Answer> {
    this.#stream ??= this.#open();
    this.#timeout = wait.timeout;
    this.#asked = kind;
    const waiting = new Waiting<Answer>(wait, (error) => this.#fail(error));
    this.#waiting = waiting;
    this.#stream.write(wrap(kind, header, body));
    return waiting.promise;
  }

  #open(): Stream {
    const path = `/${SERVICE}/Interact`;
    const { client, metadata } = this.connection;
    const stream: Stream = client.makeBidiStreamRequest(path, toBuffer, fromBuffer, metadata);
    stream.on("data", (message: Uint8Array) => this.#receive(stream, message));
    stream.on("error", (error: ServiceError) => this.#broken(stream, client, error));
    stream.on("end", () => this.#broken(stream, client));
    return stream;
  }

  #receive(stream: Stream, message: Uint8Array): void {
    if (stream !== this.#stream) return;
    if (this.#waiting === undefined) return this.close(); // what nobody has asked for yet would be the next answer
    try {
      const answer = answerTo(this.#asked, message);
      this.#take()?.resolve(answer);
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #broken(stream: Stream, client: Client, error?: ServiceError): void {
    if (stream !== this.#stream) return;
    this.connection.broken(client);
    this.#stream = undefined;
    const waiting = this.#take();
    if (waiting === undefined) return;
    if (error === undefined) waiting.reject(new ConnectionError("the server ended the stream", false, true));
    else
      settleError(
        error,
        this.#timeout,
        (answer) => waiting.resolve(answer),
        (failure) => waiting.reject(failure),
      );
  }

  #fail(error: Error): void {
    const waiting = this.#take();
    this.close();
    waiting?.reject(error);
  }

  #take(): Waiting<Answer> | undefined {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    return waiting;
  }

  close(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    stream?.cancel();
    this.#take()?.reject(new ConnectionError("the stream was closed", false, true));
  }
}
