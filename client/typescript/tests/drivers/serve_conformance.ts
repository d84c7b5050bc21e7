/** Serves the environments of `envwire conformance`; says where on standard output. */

import { conformance, serve } from "../../src/index.js";

const server = await serve(conformance, { port: 0, stepTimeout: 3, maxMessageBytes: 32 * 1024 * 1024 });
console.log(server.target);
