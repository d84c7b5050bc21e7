/** Serves the environments of `envwire conformance`, and one to walk, for tests of other languages; says where. */

import { conformance, serve } from "../../src/index.js";
import { Walking } from "../counting.js";

const registry = { ...conformance, "Walking-v0": () => new Walking(20) };
const server = await serve(registry, { port: 0, stepTimeout: 3, maxMessageBytes: 32 * 1024 * 1024 });
console.log(server.target);
