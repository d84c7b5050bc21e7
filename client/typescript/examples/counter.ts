/** An environment in TypeScript: count to a goal. `node counter.js [PORT]` serves it; any envwire client drives it. */

import { type Environment, type ResetContext, type Start, serve, spaces, type Transition } from "envwire";

class Counter implements Environment {
  readonly observationSpace = spaces.discrete(11);
  readonly actionSpace = spaces.discrete(2);
  readonly metadata = { render_modes: ["ansi"], render_fps: 4 };
  readonly exposed = ["count"];
  count = 0;

  reset({ random }: ResetContext): Start {
    this.count = random.integers(0, 5);
    return { observation: this.count, info: { goal: 10 } };
  }

  step(action: number): Transition {
    this.count = Math.min(Math.max(this.count + (action === 1 ? 1 : -1), 0), 10);
    const terminated = this.count === 10;
    return { observation: this.count, reward: terminated ? 1 : -0.1, terminated };
  }

  render(): string {
    return "#".repeat(this.count).padEnd(10, ".");
  }
}

const server = await serve({ "Counter-v0": () => new Counter() }, { port: Number(process.argv[2] ?? 50051) });
console.log(`ready: ${server.target}`);
