/** Spaces of texts, and those that are made of other spaces: Dict, Tuple, OneOf, Sequence, Graph. */

import type { Generator } from "../random/generator.js";
import { entriesOf, isMapping, mappingOf } from "../values/mappings.js";
import {
  array,
  Graph as GraphSample,
  type Mapping,
  NdArray,
  Tuple as TupleSample,
  tuple,
  type Value,
} from "../values/types.js";
import { Discrete, integerOf } from "./arrays.js";
import { Space } from "./space.js";

/** Drawn sequences and graphs have as many parts as this on average. */
const MEAN_LENGTH = 4;

const ALPHANUMERIC = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** Texts of minLength to maxLength characters of one alphabet. */
export class Text extends Space<string> {
  constructor(
    readonly maxLength: number,
    readonly minLength = 1,
    readonly characters = ALPHANUMERIC,
  ) {
    super();
  }

  contains(value: Value): boolean {
    if (typeof value !== "string") return false;
    const given = [...value];
    const fits = given.length >= this.minLength && given.length <= this.maxLength;
    return fits && given.every((character) => this.characters.includes(character));
  }

  protected draw(random: Generator): string {
    const alphabet = [...this.characters];
    const length = random.integers(this.minLength, this.maxLength + 1);
    return Array.from({ length }, () => alphabet[random.integers(0, alphabet.length)]).join("");
  }
}

/** Dictionaries with one sample for each key. */
export class Dict extends Space<Mapping> {
  readonly spaces: ReadonlyMap<Value, Space>;

  constructor(spaces: ReadonlyMap<Value, Space> | Readonly<Record<string, Space>>) {
    super();
    this.spaces = spaces instanceof Map ? spaces : new Map(Object.entries(spaces));
  }

  contains(value: Value): boolean {
    if (!isMapping(value)) return false;
    const given = new Map(entriesOf(value));
    if (given.size !== this.spaces.size) return false;
    return [...this.spaces].every(
      ([key, space]) => given.has(key) && space.contains(given.get(key) as Value),
    );
  }

  protected draw(random: Generator): Mapping {
    return mappingOf([...this.spaces].map(([key, space]) => [key, space.drawWith(random)]));
  }
}

/** Tuples with one sample for each position. */
export class Tuple extends Space<TupleSample> {
  constructor(readonly spaces: readonly Space[]) {
    super();
  }

  contains(value: Value): boolean {
    if (!Array.isArray(value) || value.length !== this.spaces.length) return false;
    return this.spaces.every((space, index) => space.contains(value[index] as Value));
  }

  protected draw(random: Generator): TupleSample {
    return tuple(...this.spaces.map((space) => space.drawWith(random)));
  }
}

/** Pairs: the index of one of the spaces, and a sample of it. */
export class OneOf extends Space<TupleSample> {
  constructor(readonly spaces: readonly Space[]) {
    super();
  }

  contains(value: Value): boolean {
    if (!(value instanceof TupleSample) || value.length !== 2) return false;
    const space = this.spaces[Number(integerOf(value[0] as Value) ?? -1)];
    return space?.contains(value[1] as Value) ?? false;
  }

  protected draw(random: Generator): TupleSample {
    const index = random.integers(0, this.spaces.length);
    return tuple(index, (this.spaces[index] as Space).drawWith(random));
  }
}

/** Samples of one space in a row, of any length. With `stack` a sample is one batched value rather than a tuple. */
export class Sequence extends Space {
  constructor(
    readonly featureSpace: Space,
    readonly stack = false,
  ) {
    super();
  }

  contains(value: Value): boolean {
    if (this.stack) return value instanceof NdArray;
    return value instanceof TupleSample && value.every((each) => this.featureSpace.contains(each));
  }

  protected draw(random: Generator): Value {
    if (this.stack) throw new TypeError("a stacked sequence is not sampled here");
    const length = random.integers(0, 2 * MEAN_LENGTH + 1);
    return tuple(...Array.from({ length }, () => this.featureSpace.drawWith(random)));
  }
}

/** Graphs: a sample for each node and edge, and the links. */
export class Graph extends Space<GraphSample> {
  constructor(
    readonly nodeSpace: Space,
    readonly edgeSpace?: Space | undefined,
  ) {
    super();
  }

  contains(value: Value): boolean {
    if (!(value instanceof GraphSample)) return false;
    const { edgeLinks } = value;
    if (edgeLinks === undefined || edgeLinks === null) return true;
    return edgeLinks instanceof NdArray && edgeLinks.shape.length === 2 && edgeLinks.shape[1] === 2;
  }

  protected draw(random: Generator): GraphSample {
    const count = random.integers(1, 2 * MEAN_LENGTH);
    const nodes = tuple(...Array.from({ length: count }, () => this.nodeSpace.drawWith(random)));
    if (this.edgeSpace === undefined) return new GraphSample(nodes);
    const edge = this.edgeSpace;
    const edges = tuple(...Array.from({ length: count }, () => edge.drawWith(random)));
    const ends = new Discrete(count);
    const links = Array.from({ length: 2 * count }, () => ends.drawWith(random));
    return new GraphSample(nodes, edges, array("int32", [count, 2], links));
  }
}
