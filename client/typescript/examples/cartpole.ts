/** Drives CartPole with random actions. `node cartpole.js HOST:PORT` */

import { connect, EnvwireError, type NdArray } from "envwire";

try {
  await using env = await connect(process.argv[2] ?? "localhost:50051").make<NdArray>("CartPole-v1");
  let { observation } = await env.reset({ seed: 42 });
  let total = 0;
  for (let episodes = 0; episodes < 10; ) {
    const step = await env.step(env.actionSpace.sample());
    total += step.reward;
    observation = step.observation;
    if (step.terminated || step.truncated) {
      episodes += 1;
      ({ observation } = await env.reset());
    }
  }
  console.log(`10 episodes, mean return ${total / 10}, last observation ${observation.data}`);
} catch (error) {
  if (!(error instanceof EnvwireError)) throw error;
  console.error(`${error.reason}: ${error.message}`);
  process.exitCode = 1;
}
