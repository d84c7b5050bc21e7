/** The service over gRPC: unary calls and the stream, as bytes. */

import { fromBinary } from "@bufbuild/protobuf";
import {
  Metadata,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServiceDefinition,
  type StatusObject,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { ErrorStatusSchema } from "../gen/envwire/v1/status_pb.js";
import { fromBuffer, toBuffer } from "../transports/grpc_client.js";
import { type Answer, unwrap, wrap } from "../wire/envelope.js";
import { KINDS, type Kind, SERVICE } from "../wire/kinds.js";
import { MAX_SILENT } from "./direct_server.js";
import { errorAnswer, Fault, faultOf } from "./faults.js";
import { HEALTH_SERVICE, Health } from "./health.js";
import type { ServeOptions, Settings } from "./options.js";
import { Ports } from "./ports.js";
import type { Service } from "./service.js";
import type { Session } from "./session.js";
import { checkToken } from "./token.js";

type Bytes = Uint8Array;
/** Connections per session; a client has one or two. */
const PER_SESSION = 4;
const NO_HEADER = new Uint8Array(0);

export class GrpcServer {
  readonly #server: Server;
  readonly #health = new Health();
  readonly #ports: Ports;

  constructor(
    readonly service: Service,
    readonly settings: Settings,
  ) {
    const { maxMessageBytes, maxSessions } = settings;
    const most = MAX_SILENT + PER_SESSION * maxSessions;
    this.#ports = new Ports((open) => open >= most);
    this.#server = new Server({
      "grpc.max_receive_message_length": maxMessageBytes,
      "grpc.max_send_message_length": maxMessageBytes,
      "grpc.keepalive_time_ms": 20_000,
      "grpc.keepalive_timeout_ms": 10_000,
    });
    const handlers: Record<string, unknown> = { Interact: (call: Stream) => this.#interact(call) };
    for (const [kind, { method }] of Object.entries(KINDS))
      handlers[method] = (call: Unary, send: sendUnaryData<Bytes>) => this.#unary(kind as Kind, call, send);
    this.#server.addService(definition(), handlers as never);
    this.#server.addService(HEALTH_SERVICE, { check: this.#health.check, watch: this.#health.watch });
  }

  /** Listens, and returns the port. */
  async listen(): Promise<number> {
    const { host, port, tls } = this.settings;
    const injector = this.#server.createConnectionInjector(credentials(tls));
    return this.#ports.listen({ host, port }, (socket) => injector.injectConnection(socket));
  }

  drain(): void {
    this.#health.drain();
  }

  close(): Promise<void> {
    this.#server.forceShutdown();
    return this.#ports.close();
  }

  #unary(kind: Kind, call: Unary, send: sendUnaryData<Bytes>): void {
    const refusal = this.#refusal(call.metadata);
    if (refusal !== undefined) return send(statusObject(refusal));
    let release = () => {};
    this.service
      .serve({ kind, body: call.request }, (session) => {
        release = session.hold();
        if (kind === "make" && call.cancelled) session.end("SESSION_CLOSED");
      })
      .then((answer) => {
        release();
        if (answer.kind === "error") send(statusObject(answer));
        else send(null, answer.body);
      });
  }

  /**
   * Answers one request after the other, and reads the next one when the answer is sent, so that answers do not
   * accumulate if a client does not read. The sessions that it used are held until the stream ends.
   */
  #interact(call: Stream): void {
    const held = new Map<Session, () => void>();
    const refusal = this.#refusal(call.metadata);
    if (refusal !== undefined) return void call.emit("error", statusObject(refusal));
    let last: Promise<unknown> = Promise.resolve();
    const hold = (session: Session) => {
      if (!held.has(session)) held.set(session, session.hold());
    };
    const release = () => {
      for (const end of held.values()) end();
      held.clear();
    };
    call.on("data", (message: Bytes) => {
      call.pause();
      last = this.#answer(message, hold)
        .then(({ kind, body }) => new Promise((sent) => call.write(wrap(kind, NO_HEADER, body), sent)))
        .then(() => call.resume());
    });
    call.on("end", () => last.then(() => call.end()).finally(release));
    call.on("cancelled", release);
    call.on("error", release);
  }

  async #answer(message: Bytes, hold: (session: Session) => void): Promise<Answer> {
    try {
      const request = unwrap(message);
      if (request !== undefined && request.kind !== "error") {
        const { kind, body } = request;
        return await this.service.serve({ kind, body }, kind === "renewLease" ? undefined : hold);
      }
    } catch {
      // Nothing can be read of it: it is answered as a request of no kind.
    }
    return errorAnswer(new Fault("MALFORMED_REQUEST", "the message holds no request"));
  }

  /** Returns why a call is refused. */
  #refusal(metadata: Metadata): Answer | undefined {
    const { token } = this.settings;
    try {
      checkToken(String(metadata.get("authorization")[0] ?? ""), token && `Bearer ${token}`);
      return undefined;
    } catch (thrown) {
      return errorAnswer(faultOf(thrown));
    }
  }
}

type Unary = ServerUnaryCall<Bytes, Bytes>;
type Stream = ServerDuplexStream<Bytes, Bytes>;

function definition(): ServiceDefinition {
  const method = (name: string, stream: boolean): MethodDefinition<Bytes, Bytes> => ({
    path: `/${SERVICE}/${name}`,
    requestStream: stream,
    responseStream: stream,
    requestSerialize: toBuffer,
    requestDeserialize: fromBuffer,
    responseSerialize: toBuffer,
    responseDeserialize: fromBuffer,
  });
  const methods: Record<string, MethodDefinition<Bytes, Bytes>> = { Interact: method("Interact", true) };
  for (const { method: name } of Object.values(KINDS)) methods[name] = method(name, false);
  return methods;
}

/** Returns the error of a unary call: its status, with all details in the trailing metadata. */
function statusObject({ body }: Answer): StatusObject {
  const { code, message } = fromBinary(ErrorStatusSchema, body);
  const metadata = new Metadata();
  metadata.set("grpc-status-details-bin", toBuffer(body));
  return Object.assign(new Error(message), { code, details: message, metadata });
}

function credentials(tls: ServeOptions["tls"]): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const { ca, cert, key } = tls;
  if (cert === undefined || key === undefined) throw new TypeError("a server with TLS has a cert and a key");
  const pem = (given: string | Buffer) => (typeof given === "string" ? Buffer.from(given) : given);
  const pair = { cert_chain: pem(cert), private_key: pem(key) };
  return ServerCredentials.createSsl(ca === undefined ? null : pem(ca), [pair], ca !== undefined);
}
