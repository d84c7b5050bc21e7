/** From a space to the contract's Space. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Space as SpaceMessage, SpaceSchema } from "../gen/envwire/v1/spaces_pb.js";
import { LAYOUTS, type TypedArray } from "../values/dtypes.js";
import { toMessage, toTensorMessage } from "../values/messages.js";
import { array, type NdArray } from "../values/ndarray.js";
import { Box, Discrete, MultiBinary, MultiDiscrete } from "./arrays.js";
import { Dict, Graph, OneOf, Sequence, Text, Tuple } from "./composite.js";
import type { Space } from "./space.js";

type Kind = NonNullable<MessageInitShape<typeof SpaceSchema>["kind"]>;

/** How each space is written, by its class. */
const KINDS: [new (...args: never[]) => Space, (space: never) => Kind][] = [
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
      value: { nvec: toTensorMessage(nvec), start: toTensorMessage(start) },
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
  [Tuple, ({ spaces }: Tuple) => ({ case: "tuple", value: { spaces: spaces.map(encodeSpace) } })],
  [OneOf, ({ spaces }: OneOf) => ({ case: "oneOf", value: { spaces: spaces.map(encodeSpace) } })],
  [
    Sequence,
    ({ featureSpace, stack }: Sequence) => ({
      case: "sequence",
      value: { featureSpace: encodeSpace(featureSpace), stack },
    }),
  ],
  [Graph, graphMessage],
];

export function encodeSpace(space: Space): SpaceMessage {
  const found = KINDS.find(([type]) => space instanceof type);
  if (found === undefined)
    throw new TypeError(`a ${space.constructor.name} is none of the ten kinds of spaces`);
  return create(SpaceSchema, { kind: found[1](space as never) });
}

function boxMessage({ low, high, shape }: Box): Kind {
  const bounded = (bounds: NdArray<TypedArray>) =>
    toTensorMessage(
      array(
        "bool",
        shape,
        Array.from<number | bigint, boolean>(bounds.data as Float64Array, (each) =>
          Number.isFinite(Number(each)),
        ),
      ),
    );
  return {
    case: "box",
    value: {
      low: toTensorMessage(low),
      high: toTensorMessage(high),
      boundedBelow: bounded(low),
      boundedAbove: bounded(high),
    },
  };
}

function dictMessage({ spaces }: Dict): Kind {
  const entries = [...spaces].map(([key, space]) => ({ key: toMessage(key), space: encodeSpace(space) }));
  return { case: "dict", value: { entries, sortKeys: false } };
}

function graphMessage({ nodeSpace, edgeSpace }: Graph): Kind {
  const node = { nodeSpace: encodeSpace(nodeSpace) };
  return { case: "graph", value: edgeSpace ? { ...node, edgeSpace: encodeSpace(edgeSpace) } : node };
}
