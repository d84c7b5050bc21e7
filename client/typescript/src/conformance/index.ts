/**
 * The environments that `envwire conformance` drives; docs/conformance.md describes them.
 *
 * A server offers them only when its author puts them into its registry: `serve({ ...conformance })`. There is no
 * Crash-v0: all sessions share this process.
 */

import type { Registry } from "../kit/environment.js";
import { Big } from "./big.js";
import { Counter } from "./counter.js";
import { Echo } from "./echo.js";
import { EverySpace } from "./every_space.js";
import { Raise, Slow } from "./failing.js";

export const conformance: Registry = {
  "Conformance/Big-v0": () => new Big(),
  "Conformance/Counter-v0": (context) => new Counter(context),
  "Conformance/Echo-v0": () => new Echo(),
  "Conformance/EverySpace-v0": () => new EverySpace(),
  "Conformance/Raise-v0": () => new Raise(),
  "Conformance/Slow-v0": (context) => Slow.make(context),
};
