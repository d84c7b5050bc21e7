/**
 * Takes the actions that a test wrote on standard input, and tells what came of each, as the bytes of values.
 *
 * Input, a line each: target, transport, id, kwargs, num_envs, seed, chunk, and then the actions, values in
 * hexadecimal. Output: "made"; an outcome a line, its parts apart by spaces; then "resumed N TRANSPORT".
 */

import { text } from "node:stream/consumers";
import {
  type ConnectOptions,
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

interface Plan {
  seed: number;
  actions: Value[];
  chunk: number;
}

const hex = (value: Value) => Buffer.from(encodeValue(value)).toString("hex");
const value = (given = "") => decodeValue(Buffer.from(given, "hex"));

/** Prints the parts of an outcome. */
function tell(...parts: Value[]): void {
  console.log(parts.map(hex).join(" "));
}

function tellStep({ observation, reward, terminated, truncated, info }: StepResult): void {
  tell(observation, new Float(reward), terminated, truncated, info as Value);
}

async function single(env: RemoteEnv, { seed, actions, chunk }: Plan): Promise<void> {
  const { observation, info } = await env.reset({ seed });
  tell(observation, info as Value);
  for (let taken = 0; taken < actions.length; ) {
    const some = actions.slice(taken, taken + chunk);
    const steps = chunk === 1 ? [await env.step(some[0] as Value)] : (await env.stepMany(some)).steps;
    taken += steps.length;
    steps.forEach(tellStep);
    const last = steps.at(-1);
    if (last?.terminated || last?.truncated) {
      const next = await env.reset();
      tell(next.observation, next.info as Value);
    }
  }
}

async function vector(env: RemoteVectorEnv, { seed, actions }: Plan): Promise<void> {
  const { observations, infos } = await env.reset({ seed });
  tell(observations, infos as Value);
  for (const action of actions) {
    const step = await env.step(action);
    tell(step.observations, step.rewards, step.terminations, step.truncations, step.infos as Value);
  }
}

const [target = "", transport, id = "", given, numEnvs, seed, chunk, ...rest] = (
  await text(process.stdin)
).split("\n");
const plan = { seed: Number(seed), chunk: Number(chunk), actions: rest.filter(Boolean).map(value) };
const server = connect(target, { transport } as ConnectOptions);
const kwargs = value(given) as Mapping;
const env = Number(numEnvs)
  ? await server.makeVector(id, Number(numEnvs), { kwargs })
  : await server.make(id, { kwargs });
console.log("made");
await ("numEnvs" in env ? vector(env, plan) : single(env, plan));
console.log(`resumed ${env.resumed} ${env.raw.transport.name}`);
await env.close();
