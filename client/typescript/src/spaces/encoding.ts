/** From a space to the contract's Space. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Space as SpaceMessage, SpaceSchema } from "../gen/envwire/v1/spaces_pb.js";
import { LAYOUTS, type TypedArray } from "../values/dtypes.js";
import { toMessage, toUniformTensorMessage } from "../values/messages.js";
import { NdArray } from "../values/types.js";
import { Box, comparable, Discrete, MultiBinary, MultiDiscrete } from "./arrays.js";
import { Dict, Graph, OneOf, Sequence, Text, Tuple } from "./composite.js";
import type { Space } from "./space.js";

type Kind = NonNullable<MessageInitShape<typeof SpaceSchema>["kind"]>;

/** Writes a part of a space. */
type Part = (space: Space) => SpaceMessage;

/** How each space is written, by its class. */
const KINDS: [new (...args: never[]) => Space, (space: never, part: Part) => Kind][] = [
  [Box, boxMessage],
  [
    Discrete,
    ({ n, start, dtype }: Discrete) => ({
      case: "discrete",
      value: { n: BigInt(n), start: BigInt(start), dataType: LAYOUTS[dtype].number },
    }),
  ],
  [
    MultiBinary,
    ({ n, shape }: MultiBinary) => ({
      case: "multiBinary",
      value: { shape: shape.map(BigInt), flat: typeof n === "number" },
    }),
  ],
  [
    MultiDiscrete,
    ({ nvec, start }: MultiDiscrete) => ({
      case: "multiDiscrete",
      value: { nvec: toUniformTensorMessage(nvec), start: toUniformTensorMessage(start) },
    }),
  ],
  [
    Text,
    ({ minLength, maxLength, characters }: Text) => ({
      case: "text",
      value: { minLength: BigInt(minLength), maxLength: BigInt(maxLength), characters },
    }),
  ],
  [Dict, dictMessage],
  [Tuple, ({ spaces }: Tuple, part) => ({ case: "tuple", value: { spaces: spaces.map(part) } })],
  [OneOf, ({ spaces }: OneOf, part) => ({ case: "oneOf", value: { spaces: spaces.map(part) } })],
  [
    Sequence,
    ({ featureSpace, stack }: Sequence, part) => ({
      case: "sequence",
      value: { featureSpace: part(featureSpace), stack },
    }),
  ],
  [Graph, graphMessage],
];

/** Returns the message of a space; one that stands in two places of the tree is written once, and referred to then. */
export function encodeSpace(space: Space): SpaceMessage {
  const ended = new Map<Space, number>();
  const encode = (part: Space): SpaceMessage => {
    const earlier = ended.get(part);
    if (earlier !== undefined) return create(SpaceSchema, { kind: { case: "sameAs", value: earlier } });
    const kind = kindOf(part)(part as never, encode);
    ended.set(part, ended.size);
    return create(SpaceSchema, { kind });
  };
  return encode(space);
}

function kindOf(space: Space): (typeof KINDS)[number][1] {
  const found = KINDS.find(([type]) => space instanceof type);
  if (found === undefined)
    throw new TypeError(`a ${space.constructor.name} is none of the ten kinds of spaces`);
  return found[1];
}

function boxMessage({ low, high, shape }: Box): Kind {
  const bounded = (bounds: NdArray<TypedArray>) => {
    const bound = comparable(bounds);
    const marks = Uint8Array.from({ length: bounds.data.length }, (_, index) =>
      Number(Number.isFinite(Number(bound(index)))),
    );
    return toUniformTensorMessage(new NdArray("bool", shape, marks));
  };
  return {
    case: "box",
    value: {
      low: toUniformTensorMessage(low),
      high: toUniformTensorMessage(high),
      boundedBelow: bounded(low),
      boundedAbove: bounded(high),
    },
  };
}

function dictMessage({ spaces }: Dict, part: Part): Kind {
  const entries = [...spaces].map(([key, space]) => ({ key: toMessage(key), space: part(space) }));
  return { case: "dict", value: { entries, sortKeys: false } };
}

function graphMessage({ nodeSpace, edgeSpace }: Graph, part: Part): Kind {
  const node = { nodeSpace: part(nodeSpace) };
  return { case: "graph", value: edgeSpace ? { ...node, edgeSpace: part(edgeSpace) } : node };
}
