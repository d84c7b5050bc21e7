/** The driver for `envwire conformance --client`: lines of JSON in, lines of JSON out; docs/conformance.md describes them. */

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { fromBinary, fromJson, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "../../src/gen/envwire/v1/values_pb.js";
import {
  connect,
  decodeValue,
  EnvwireError,
  encodeValue,
  type Mapping,
  type RemoteEnv,
  type Value,
} from "../../src/index.js";

interface Line {
  do: string;
  target: string;
  transport: "auto" | "unary" | "stream" | "direct";
  env_id: string;
  lease?: number;
  ca?: string;
  seed?: number;
  options?: JsonValue;
  action: JsonValue;
  seconds: number;
}

const read = (shown: JsonValue) => decodeValue(toBinary(ValueSchema, fromJson(ValueSchema, shown)));
const written = (value: Value) => toJson(ValueSchema, fromBinary(ValueSchema, encodeValue(value)));

let env: RemoteEnv | undefined;

async function close() {
  const last = env;
  env = undefined;
  await last?.close();
  return {};
}

function made(): RemoteEnv {
  if (env === undefined) throw new EnvwireError("SESSION_CLOSED", "there is no environment");
  return env;
}

const DO: Record<string, (line: Line) => Promise<object>> = {
  close,
  async make({ target, transport, env_id, lease, ca }) {
    await close();
    const tls = ca === undefined ? undefined : { ca: readFileSync(ca) };
    env = await connect(target, { transport, tls }).make(env_id, lease === undefined ? {} : { lease });
    return {};
  },
  async reset({ seed, options }) {
    const given = options === undefined ? {} : { options: read(options) as Mapping };
    const answer = await made().reset(seed === undefined ? given : { ...given, seed });
    return { observation: written(answer.observation), info: written(answer.info) };
  },
  async step({ action }) {
    const { observation, reward, terminated, truncated, info } = await made().step(read(action));
    return { observation: written(observation), reward, terminated, truncated, info: written(info) };
  },
  async wait({ seconds }) {
    await setTimeout(seconds * 1000);
    return {};
  },
};

async function answer(line: Line): Promise<object> {
  const act = DO[line.do];
  if (act === undefined) return { unsupported: line.do };
  try {
    return { ok: await act(line) };
  } catch (error) {
    if (!(error instanceof EnvwireError)) throw error;
    return { error: { reason: error.reason, message: String(error) } };
  }
}

for await (const line of createInterface(process.stdin))
  console.log(JSON.stringify(await answer(JSON.parse(line))));
