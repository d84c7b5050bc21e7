import { connect, type NdArray } from "envwire";

const env = await connect("localhost:50051").make<NdArray<Float32Array>>("CartPole-v1");
await env.reset({ seed: 42 });
let step = await env.step(env.actionSpace.sample());
while (!step.terminated && !step.truncated) {
  const [, , angle = 0] = step.observation.data; // of NdArray { dtype: "float32", shape: [4], data: Float32Array }
  step = await env.step(angle > 0 ? 1 : 0);
}
console.log("the last observation", step.observation.data, "and its reward", step.reward);
await env.close();
