/** Serves the counting environment for tests of other languages; says where on standard output. */

import { serve } from "../../src/index.js";
import { Counting, Walking } from "../counting.js";

const registry = { "Counting-v0": () => new Counting(20), "Walking-v0": () => new Walking(20) };
const server = await serve(registry, { port: 0 });
console.log(server.target);
