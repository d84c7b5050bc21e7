/** Prints the microseconds of a step on the direct channel, once for each line on standard input: step.js HOST:PORT [ID] */

import { createInterface } from "node:readline";
import { connect } from "envwire";

const STEPS = 3_000;
await using env = await connect(process.argv[2] ?? "localhost:50051").make(process.argv[3] ?? "CartPole-v1");

for await (const _ of createInterface(process.stdin)) {
  await env.reset({ seed: 1 });
  const start = performance.now();
  for (let count = 0; count < STEPS; count++) {
    const { terminated, truncated } = await env.step(count % 2);
    if (terminated || truncated) await env.reset();
  }
  console.log(((performance.now() - start) * 1000) / STEPS);
}
