/** A gRPC connection that carries serialised messages. */

import { create, toBinary } from "@bufbuild/protobuf";
import {
  ChannelCredentials,
  Client,
  type ClientOptions,
  Metadata,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { ConnectionError, errorFromStatus } from "../errors.js";
import { ErrorStatusSchema } from "../gen/envwire/v1/status_pb.js";
import { ValueError } from "../values/encoding.js";
import type { Answer } from "../wire/envelope.js";
import { KINDS, type Kind, SERVICE } from "../wire/kinds.js";
import { staysHere } from "./addresses.js";
import type { Wait } from "./transport.js";
import { cancelled, timedOut } from "./waiting.js";

/** Certificates, as PEM, for a server with TLS; `true` trusts the authorities that Node knows. */
export interface TlsOptions {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  /** The name in the server's certificate, where it is not the one that is dialled. */
  readonly serverName?: string;
}

export interface Credentials {
  readonly tls?: boolean | TlsOptions | undefined;
  readonly token?: string | undefined;
  /** Whether the token may be sent to other machines without TLS, where anyone on the way can read it. */
  readonly insecure?: boolean | undefined;
}

const UNLIMITED = -1;

/** A connection that is opened anew after it broke: grpc-js would wait before that, and a session knows when to wait. */
export class GrpcConnection {
  readonly metadata: Metadata;
  #client: Client | undefined;

  constructor(
    readonly target: string,
    readonly credentials: Credentials,
  ) {
    this.metadata = metadataOf(target, credentials);
  }

  get client(): Client {
    this.#client ??= openClient(this.target, this.credentials);
    return this.#client;
  }

  /** Notes that calls on a client failed: the next ones go over another connection. */
  broken(client: Client): void {
    if (client === this.#client) this.close();
  }

  close(): void {
    this.#client?.close();
    this.#client = undefined;
  }
}

function openClient(target: string, { tls }: Credentials): Client {
  const options: ClientOptions = {
    "grpc.max_receive_message_length": UNLIMITED,
    "grpc.max_send_message_length": UNLIMITED,
    "grpc.enable_http_proxy": 0, // as the direct channel; gRPC takes http_proxy even for loopback
    "grpc.keepalive_time_ms": 20_000,
    "grpc.keepalive_timeout_ms": 10_000,
    "grpc.enable_retries": 0, // a session repeats its requests itself, by their numbers
    "grpc.initial_reconnect_backoff_ms": 50,
    "grpc.max_reconnect_backoff_ms": 1_000,
    "grpc.use_local_subchannel_pool": 1,
  };
  const given = typeof tls === "object" ? tls : {};
  if (given.serverName !== undefined) options["grpc.ssl_target_name_override"] = given.serverName;
  return new Client(target, tls ? channelCredentials(given) : ChannelCredentials.createInsecure(), options);
}

function channelCredentials({ ca, key, cert }: TlsOptions): ChannelCredentials {
  const pem = (text: string | Buffer | undefined) => (text === undefined ? null : Buffer.from(text));
  return ChannelCredentials.createSsl(pem(ca), pem(key), pem(cert));
}

function metadataOf(target: string, { tls, token, insecure }: Credentials): Metadata {
  const metadata = new Metadata();
  if (token === undefined) return metadata;
  if (!/^[ -~]*$/.test(token))
    throw new ValueError(
      "token",
      "holds characters that no token has; give the line that `envwire token` printed",
    );
  if (!tls && !insecure && !staysHere(target))
    throw new ValueError(
      "token",
      `is not sent to ${target} without TLS, where anyone on the way could read and use it; ` +
        "give tls, or insecure: true if the network is trusted",
    );
  metadata.set("authorization", `Bearer ${token}`);
  return metadata;
}

export const toBuffer = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
export const fromBuffer = (buffer: Buffer) =>
  new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);

/** Makes a unary call; an error that the server sent is an answer. */
export function callUnary(
  connection: GrpcConnection,
  kind: Kind,
  body: Uint8Array,
  { timeout, signal }: Wait,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(cancelled(signal));
    const { client, metadata } = connection;
    const abort = () => call.cancel();
    const call = client.makeUnaryRequest(
      `/${SERVICE}/${KINDS[kind].method}`,
      toBuffer,
      fromBuffer,
      body,
      metadata,
      { deadline: Date.now() + timeout },
      (error, answer) => {
        signal?.removeEventListener("abort", abort);
        if (error === null) resolve({ kind, body: answer ?? new Uint8Array(0) });
        else if (signal?.aborted) reject(cancelled(signal));
        else {
          const failed = (failure: Error) => {
            if (failure instanceof ConnectionError) connection.broken(client);
            reject(failure);
          };
          settleError(error, timeout, resolve, failed);
        }
      },
    );
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** Tells the server's errors, which are answers, from those of the connection and of the deadline. */
export function settleError(
  error: ServiceError,
  timeout: number,
  resolve: (answer: Answer) => void,
  reject: (error: Error) => void,
): void {
  const packed = error.metadata?.get("grpc-status-details-bin")[0];
  if (packed instanceof Buffer) return resolve({ kind: "error", body: fromBuffer(packed) });
  if (error.code === status.UNAVAILABLE || error.code === status.CANCELLED || error.code === status.INTERNAL)
    return reject(connectionError(error));
  if (error.code === status.DEADLINE_EXCEEDED) return reject(timedOut(timeout));
  const bare = create(ErrorStatusSchema, { code: error.code, message: error.details });
  resolve({ kind: "error", body: toBinary(ErrorStatusSchema, bare) });
}

function connectionError(error: ServiceError): ConnectionError {
  const refused = /ECONNREFUSED|ENOENT/.test(error.details);
  const connected = !/No connection established|Name resolution failed/.test(error.details);
  return new ConnectionError(`the connection broke: ${error.details}`, refused, connected, error);
}

/** Returns the body of an answer, or throws the error that it is. */
export function bodyOf(answer: Answer): Uint8Array {
  if (answer.kind === "error") throw errorFromStatus(answer.body);
  return answer.body;
}
