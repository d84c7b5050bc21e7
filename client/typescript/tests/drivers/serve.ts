/** Serves the environments of `envwire conformance`, and one to walk, for tests of other languages; says where. */

import { readFileSync } from "node:fs";
import { conformance, serve } from "../../src/index.js";
import { Walking } from "../counting.js";

/** The file that a variable of the environment names. */
const file = (variable: string) => readFileSync(process.env[variable] ?? "", "utf8");

const tls = process.env["ENVWIRE_CA"] && {
  ca: file("ENVWIRE_CA"),
  cert: file("ENVWIRE_CERT"),
  key: file("ENVWIRE_KEY"),
};
const token = process.env["ENVWIRE_TOKEN"];
const registry = { ...conformance, "Walking-v0": () => new Walking(20) };
const server = await serve(registry, {
  port: 0,
  stepTimeout: 3,
  maxMessageBytes: 32 * 1024 * 1024,
  ...(tls && { tls }),
  ...(token && { token }),
});
console.log(server.target);
