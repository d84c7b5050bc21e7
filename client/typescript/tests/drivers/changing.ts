/** Resets an environment with the options of each further argument, and says which actions its space then has. */

import { connect } from "../../src/index.js";

const [target = "", id = "", ...counts] = process.argv.slice(2);
const env = await connect(target).make<unknown, number>(id);
const found: number[] = [];
for (const count of counts.map(Number)) {
  await env.reset(count > 0 ? { seed: 1, options: { n: count } } : { seed: 1 });
  let contained = 0;
  while (env.actionSpace.contains(contained)) contained++;
  await env.step(contained - 1);
  found.push(contained);
}
console.log(found.join(" "));
await env.close();
