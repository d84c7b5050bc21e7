/** Modules import one another in one direction, types included: a reader who begins at a leaf needs nothing above it. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";

const SOURCES = resolve("src");
const IMPORT = /^(?:import|export)\s[^;"]*?from\s+"(\.[^"]+)"/gms;

function imports(): Map<string, string[]> {
  const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".ts") && !name.startsWith("gen/"),
  );
  return new Map(
    files.map((name) => {
      const text = readFileSync(join(SOURCES, name), "utf8");
      const from = (path: string) => relative(SOURCES, resolve(SOURCES, dirname(name), path));
      return [name, [...text.matchAll(IMPORT)].map(([, path = ""]) => from(path).replace(/\.js$/, ".ts"))];
    }),
  );
}

/** Returns a path from a module back to itself, or undefined. */
function circle(graph: Map<string, string[]>): string[] | undefined {
  const done = new Set<string>();
  const visit = (name: string, path: string[]): string[] | undefined => {
    if (path.includes(name)) return [...path.slice(path.indexOf(name)), name];
    if (done.has(name)) return undefined;
    for (const next of graph.get(name) ?? []) {
      const found = visit(next, [...path, name]);
      if (found !== undefined) return found;
    }
    done.add(name);
    return undefined;
  };
  for (const name of graph.keys()) {
    const found = visit(name, []);
    if (found !== undefined) return found;
  }
  return undefined;
}

test("no modules import each other", () => {
  const graph = imports();
  assert.ok(graph.size > 50);
  assert.equal(circle(graph), undefined);
});
