/** Spaces, and short ways to make them. */

import type { NumericDType } from "../values/dtypes.js";
import { array } from "../values/types.js";
import { Box, Discrete, MultiBinary, MultiDiscrete } from "./arrays.js";
import { Dict, Graph, OneOf, Sequence, Text, Tuple } from "./composite.js";
import type { Space } from "./space.js";

export { Space } from "./space.js";
export { Box, Dict, Discrete, Graph, MultiBinary, MultiDiscrete, OneOf, Sequence, Text, Tuple };

type Bound = number | bigint | readonly (number | bigint)[];

/** Makes a box: each bound is one number for all elements, or one for each. */
export function box(low: Bound, high: Bound, shape: readonly number[], dtype: NumericDType = "float32"): Box {
  const count = shape.reduce((product, length) => product * length, 1);
  const bounds = (bound: Bound) =>
    array(dtype, shape, typeof bound === "object" ? bound : Array<number | bigint>(count).fill(bound));
  return new Box(bounds(low), bounds(high));
}

export const discrete = (n: number, start = 0): Discrete => new Discrete(n, start);
export const multiBinary = (n: number | readonly number[]): MultiBinary => new MultiBinary(n);
export const multiDiscrete = (nvec: readonly number[]): MultiDiscrete => new MultiDiscrete(nvec);
export const text = (maxLength: number, minLength = 1): Text => new Text(maxLength, minLength);
export const dict = (spaces: Readonly<Record<string, Space>>): Dict => new Dict(spaces);
export const tuple = (...spaces: Space[]): Tuple => new Tuple(spaces);
export const oneOf = (...spaces: Space[]): OneOf => new OneOf(spaces);
export const sequence = (featureSpace: Space): Sequence => new Sequence(featureSpace);
export const graph = (nodeSpace: Space, edgeSpace?: Space): Graph => new Graph(nodeSpace, edgeSpace);
