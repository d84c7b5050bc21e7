/** Which waits keep the event loop turning, by a clock and a loop of the test's own. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { AdaptiveSpin } from "../src/transports/adaptive_spin.js";

/** An event loop of which each turn takes a hundredth of a millisecond. */
class Loop {
  now = 0;
  turns = 0;
  #next: (() => void)[] = [];
  readonly spin = new AdaptiveSpin(
    () => this.now,
    (callback) => this.#next.push(callback),
    false,
  );

  /** Waits for so many milliseconds; returns how often the loop turned meanwhile instead of sleeping. */
  wait(milliseconds: number): number {
    const until = this.now + milliseconds;
    const before = this.turns;
    this.spin.begin();
    while (this.now < until && this.#next.length > 0) this.#turn();
    this.now = Math.max(this.now, until);
    this.spin.woke();
    return this.turns - before;
  }

  #turn(): void {
    this.turns++;
    this.now += 0.01;
    assert.equal(this.#next.length, 1);
    for (const callback of this.#next.splice(0)) callback();
  }
}

test("short waits turn the loop, one after another", () => {
  const loop = new Loop();
  for (let count = 0; count < 100; count++) {
    const turns = loop.wait(0.05);
    assert.ok(turns >= 4 && turns <= 6, `${turns} turns`);
  }
});

test("a long wait turns it for a moment, and the next ones sleep: 1, 3, 7 and so on up to 63", () => {
  const loop = new Loop();
  const slept: number[] = [];
  let sleeping = -1;
  while (slept.length < 9) {
    sleeping++;
    const turns = loop.wait(1);
    assert.ok(turns <= 11);
    if (turns === 0) continue;
    slept.push(sleeping);
    sleeping = -1;
  }
  assert.deepEqual(slept, [0, 1, 3, 7, 15, 31, 63, 63, 63]);
});

test("a long wait after many short ones is followed by one that sleeps", () => {
  const loop = new Loop();
  for (let count = 0; count < 200; count++) loop.wait(1);
  for (let count = 0; count < 100; count++) loop.wait(0.05);
  loop.wait(1);
  assert.deepEqual([loop.wait(0.05) > 0, loop.wait(0.05) > 0], [false, true]);
});

test("one processor is left to the server", () => {
  const spin = new AdaptiveSpin(
    () => 0,
    () => assert.fail("it turned"),
    true,
  );
  spin.begin();
  spin.woke();
});
