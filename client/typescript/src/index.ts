/** Drive reinforcement-learning environments on another machine, and serve your own. */

export {
  type ConnectOptions,
  connect,
  type MakeOptions,
  type MakeVectorOptions,
  Server,
} from "./client/connect.js";
export type { CallOptions } from "./client/driver.js";
export { RemoteEnv, type StepManyResult } from "./client/env.js";
export type { ResetResult, StepResult, VectorStepResult } from "./client/results.js";
export { RemoteVectorEnv, type VectorResetResult } from "./client/vector_env.js";
export { conformance } from "./conformance/index.js";
export { EnvwireError, type EnvwireErrorDetails, type RemoteException } from "./errors.js";
export type { EnvironmentListing, GetServerInfoResponse } from "./gen/envwire/v1/environment_pb.js";
export type {
  Environment,
  MakeContext,
  Registry,
  ResetContext,
  Start,
  Transition,
} from "./kit/environment.js";
export type { ServeOptions } from "./kit/options.js";
export { type RunningServer, serve } from "./kit/serve.js";
export { Generator } from "./random/generator.js";
export type { ResetOptions } from "./session/operations.js";
export * as spaces from "./spaces/index.js";
export type { Space } from "./spaces/space.js";
export type { Credentials, TlsOptions } from "./transports/grpc_client.js";
export * from "./values/index.js";
export type { Warning } from "./wire/steps.js";
