/** Addresses: their hosts and ports, and whether they are on this machine. */

import { isIPv4, isIPv6 } from "node:net";

const HERE = /^(localhost|127\.[0-9.]+|::1)$/;
const SCHEME = /^(dns|ipv4|ipv6):(\/\/[^/]*\/)?/;

const PARTS = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:]+)):([1-9][0-9]{0,4})$/;
const LABEL = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?";
const NAME = new RegExp(`^(?:${LABEL}\\.)*${LABEL}$`);
/** The last label of what resolvers take for a number: "10.1" is 10.0.0.1. */
const NUMBER = /^(?:[0-9]+|0[Xx][0-9A-Fa-f]*)$/;
/** Schemes of gRPC, which would take "dns:1" for the host 1. */
const SCHEMES = new Set(["dns", "ipv4", "ipv6", "unix", "unix-abstract", "vsock", "xds", "google-c2p"]);
const LONGEST_NAME = 253;
const LAST_PORT = 65_535;

/**
 * Returns whether a text is HOST:PORT and nothing else that gRPC or a resolver would take. Clients dial what servers
 * name, and "unix:1" is a socket in the file system.
 */
export function isHostPort(text: string): boolean {
  const [, ipv6, host = "", port = ""] = PARTS.exec(text) ?? [];
  if (Number(port) > LAST_PORT) return false;
  if (ipv6 !== undefined) return isIPv6(ipv6);
  if (NUMBER.test(host.slice(host.lastIndexOf(".") + 1))) return isIPv4(host);
  return host.length <= LONGEST_NAME && NAME.test(host) && !SCHEMES.has(host.toLowerCase());
}

export function splitAddress(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(":");
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ""), port: Number(address.slice(colon + 1)) };
}

/** Returns whether a host is this machine. */
export const isHere = (host: string): boolean => HERE.test(host);

/** Returns whether all addresses of a gRPC target are on this machine. */
export function staysHere(target: string): boolean {
  if (/^unix(-abstract)?:/.test(target)) return true;
  return target
    .replace(SCHEME, "")
    .split(",")
    .every((each) => isHere(splitAddress(each).host));
}
