/** Takes the actions that a test wrote on standard input, and tells what came of each, as the bytes of values. */

import { once } from "node:events";
import { createInterface } from "node:readline";
import {
  connect,
  decodeValue,
  encodeValue,
  Float,
  type Mapping,
  type RemoteEnv,
  type RemoteVectorEnv,
  type StepResult,
  type Value,
} from "../../src/index.js";

interface Request {
  target: string;
  transport: "unary" | "stream" | "direct" | "direct-tcp";
  id: string;
  kwargs: string;
  numEnvs: number;
  seed: number;
  actions: string[];
  chunk: number;
}

const hex = (value: Value) => Buffer.from(encodeValue(value)).toString("hex");
const value = (given: string) => decodeValue(Buffer.from(given, "hex"));

function told({ observation, reward, terminated, truncated, info }: StepResult): string[] {
  return [observation, new Float(reward), terminated, truncated, info as Value].map(hex);
}

async function single(env: RemoteEnv, { seed, actions, chunk }: Request): Promise<string[][]> {
  const { observation, info } = await env.reset({ seed });
  const outcomes = [[observation, info as Value].map(hex)];
  for (let taken = 0; taken < actions.length; ) {
    const some = actions.slice(taken, taken + chunk).map(value);
    const steps = chunk === 1 ? [await env.step(some[0] as Value)] : (await env.stepMany(some)).steps;
    taken += steps.length;
    outcomes.push(...steps.map(told));
    const last = steps.at(-1);
    if (last?.terminated || last?.truncated) {
      const next = await env.reset();
      outcomes.push([next.observation, next.info as Value].map(hex));
    }
  }
  return outcomes;
}

async function vector(env: RemoteVectorEnv, { seed, actions }: Request): Promise<string[][]> {
  const { observations, infos } = await env.reset({ seed });
  const outcomes = [[observations, infos as Value].map(hex)];
  for (const action of actions) {
    const step = await env.step(value(action));
    const { observations, rewards, terminations, truncations, infos } = step;
    outcomes.push([observations, rewards, terminations, truncations, infos as Value].map(hex));
  }
  return outcomes;
}

const [line] = await once(createInterface(process.stdin), "line");
const request: Request = JSON.parse(line);
const server = connect(request.target, { transport: request.transport });
const kwargs = value(request.kwargs) as Mapping;
const env = request.numEnvs
  ? await server.makeVector(request.id, request.numEnvs, { kwargs })
  : await server.make(request.id, { kwargs });
console.log("made");
const outcomes = await ("numEnvs" in env ? vector(env, request) : single(env, request));
console.log(JSON.stringify({ outcomes, resumed: env.resumed, transport: env.raw.transport.name }));
await env.close();
