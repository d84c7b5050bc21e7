/** Addresses: their hosts and ports, and whether they are on this machine. */

const HERE = /^(localhost|127\.[0-9.]+|::1)$/;
const SCHEME = /^(dns|ipv4|ipv6):(\/\/[^/]*\/)?/;

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
