/** From the contract's Space to a space. */

import { MalformedMessageError } from "../errors.js";
import type { Space as SpaceMessage } from "../gen/envwire/v1/spaces_pb.js";
import type { Tensor } from "../gen/envwire/v1/values_pb.js";
import { dtypeOf, type TypedArray } from "../values/dtypes.js";
import { fromMessage, fromTensorMessage } from "../values/messages.js";
import { FillAllowance } from "../values/tensors.js";
import type { NdArray, Value } from "../values/types.js";
import { Box, Discrete, MultiBinary, MultiDiscrete } from "./arrays.js";
import { Dict, Graph, OneOf, Sequence, Text, Tuple } from "./composite.js";
import type { Space } from "./space.js";

/** Bytes of filled bounds in one space: two arrays of the largest message of a server with default settings. */
const MAX_FILLED_BYTES = 512 * 1024 * 1024;

type Kind = NonNullable<SpaceMessage["kind"]["case"]>;
type Content<K extends Kind> = Extract<SpaceMessage["kind"], { case: K }>["value"];

/** Returns the space; every part that the tree refers to again is the same object. */
export function decodeSpace(message: SpaceMessage | undefined): Space {
  return new Decoder().decode(message);
}

class Decoder {
  /** The spaces of the tree in the order in which they ended, parts before the whole. */
  readonly #ended: Space[] = [];
  readonly #fills = new FillAllowance(MAX_FILLED_BYTES);

  decode(message: SpaceMessage | undefined): Space {
    if (message?.kind.case === undefined)
      throw new MalformedMessageError("a space is of no kind that this version knows");
    const { kind } = message;
    if (kind.case === "sameAs") return this.#same(kind.value);
    const space = (this.#kinds[kind.case] as (content: unknown) => Space)(kind.value);
    this.#ended.push(space);
    return space;
  }

  #same(index: number): Space {
    const space = this.#ended[index];
    if (space === undefined)
      throw new MalformedMessageError(`a space is the same as number ${index}, which is not there`);
    return space;
  }

  readonly #kinds: { [K in Exclude<Kind, "sameAs">]: (content: Content<K>) => Space } = {
    box: ({ low, high }) => new Box(this.#tensor(low), this.#tensor(high)),
    discrete: ({ n, start, dataType }) =>
      new Discrete(Number(n), Number(start), dtypeOf(dataType) ?? "int64"),
    multiBinary: ({ shape, flat }) => new MultiBinary(flat ? Number(shape[0]) : shape.map(Number)),
    multiDiscrete: ({ nvec, start }) => new MultiDiscrete(this.#tensor(nvec), this.#tensor(start)),
    text: ({ minLength, maxLength, characters }) =>
      new Text(Number(maxLength), Number(minLength), characters),
    dict: ({ entries }) => {
      const parts = entries.map(({ key, space }): [Value, Space] => [
        key ? fromMessage(key) : null,
        this.decode(space),
      ]);
      return new Dict(new Map(parts));
    },
    tuple: ({ spaces }) => new Tuple(spaces.map((space) => this.decode(space))),
    oneOf: ({ spaces }) => new OneOf(spaces.map((space) => this.decode(space))),
    sequence: ({ featureSpace, stack }) => new Sequence(this.decode(featureSpace), stack),
    graph: ({ nodeSpace, edgeSpace }) => {
      const node = this.decode(nodeSpace);
      return new Graph(node, edgeSpace && this.decode(edgeSpace));
    },
  };

  #tensor(message: Tensor | undefined): NdArray<TypedArray> {
    if (message === undefined) throw new MalformedMessageError("a space lacks a part");
    return fromTensorMessage(message, this.#fills);
  }
}
