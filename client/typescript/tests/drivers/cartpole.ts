/** Serves CartPole-v1 with the numbers of Gymnasium's, and Faulty-v0, whose actions 7 to 10 go wrong. */

import {
  type Environment,
  NdArray,
  type ResetContext,
  type Start,
  serve,
  spaces,
  type Transition,
} from "../../src/index.js";

const GRAVITY = 9.8;
const POLE_MASS = 0.1;
const TOTAL_MASS = POLE_MASS + 1.0;
const LENGTH = 0.5;
const POLE_MASS_LENGTH = POLE_MASS * LENGTH;
const FORCE = 10.0;
const SECONDS = 0.02;
const FARTHEST = 2.4;
const FALLEN = (12 * 2 * Math.PI) / 360;
const MOST_STEPS = 500;
const HIGH = [FARTHEST * 2, Number.POSITIVE_INFINITY, FALLEN * 2, Number.POSITIVE_INFINITY];

class CartPole implements Environment {
  readonly observationSpace = spaces.box(
    HIGH.map((each) => -each),
    HIGH,
    [4],
  );
  readonly actionSpace = spaces.discrete(2);
  #state = [0, 0, 0, 0];
  #steps = 0;

  reset({ random }: ResetContext): Start {
    this.#state = this.#state.map(() => random.uniform(-0.05, 0.05));
    this.#steps = 0;
    return { observation: this.#observed() };
  }

  /** The order of the operations is part of the result. */
  step(action: number): Transition {
    const [x, xDot, theta, thetaDot] = this.#state as [number, number, number, number];
    const force = action === 1 ? FORCE : -FORCE;
    const [cosine, sine] = [Math.cos(theta), Math.sin(theta)];
    const push = (force + POLE_MASS_LENGTH * (thetaDot * thetaDot) * sine) / TOTAL_MASS;
    const thetaAcc =
      (GRAVITY * sine - cosine * push) /
      (LENGTH * (4.0 / 3.0 - (POLE_MASS * (cosine * cosine)) / TOTAL_MASS));
    const xAcc = push - (POLE_MASS_LENGTH * thetaAcc * cosine) / TOTAL_MASS;
    const moved = [
      x + SECONDS * xDot,
      xDot + SECONDS * xAcc,
      theta + SECONDS * thetaDot,
      thetaDot + SECONDS * thetaAcc,
    ];
    this.#state = moved;
    const terminated = Math.abs(moved[0] as number) > FARTHEST || Math.abs(moved[2] as number) > FALLEN;
    return { observation: this.#observed(), reward: 1, terminated, truncated: ++this.#steps >= MOST_STEPS };
  }

  #observed(): NdArray {
    return new NdArray("float32", [4], Float32Array.from(this.#state));
  }
}

const WRONG: Record<number, () => void> = {
  7: () => {
    console.log("about to write to address 0");
    process.kill(process.pid, "SIGSEGV");
  },
  8: () => {
    for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  },
  9: () => {
    for (const line = "x".repeat(1000); ; ) console.log(line);
  },
  10: () => {
    console.error("nothing left to simulate");
    process.exit(3);
  },
};

class Faulty extends CartPole {
  override readonly actionSpace = spaces.discrete(12);

  override step(action: number): Transition {
    WRONG[action]?.();
    return super.step(action);
  }
}

const server = await serve(
  { "CartPole-v1": () => new CartPole(), "Faulty-v0": () => new Faulty() },
  { port: 0 },
);
console.log(server.target);
