/** Values and spaces as texts for error messages, as Python shows them: their beginnings. */

import { isNumeric, LAYOUTS, type TypedArray } from "../values/dtypes.js";
import { entriesOf, isMapping } from "../values/mappings.js";
import {
  Float,
  fromTypedArray,
  NdArray,
  Opaque,
  Scalar,
  Tuple as TupleSample,
  type Value,
} from "../values/types.js";
import { Box, comparable, Discrete, MultiBinary, MultiDiscrete } from "./arrays.js";
import { Dict, Graph, OneOf, Sequence, Text, Tuple } from "./composite.js";
import type { Space } from "./space.js";

const MAX_TEXT = 200;
const MAX_PARTS = 8;
/** Deeper parts are not looked at: what nests deeper is cut anyway. */
const MAX_DEPTH = 8;

type Show<Part> = (part: Part) => string;

/** Returns the beginning of a value's text: "array([0.5, 1], dtype=float32)". */
export function shownValue(value: Value): string {
  return cut(valueText(value, 0));
}

/** Returns the beginning of a space's text: "Box(-1, 1, (2,), float32)". */
export function shownSpace(space: Space): string {
  return cut(spaceText(space, 0));
}

function cut(text: string): string {
  return [...text.slice(0, 2 * MAX_TEXT)].slice(0, MAX_TEXT).join("");
}

/** Joins texts of the first parts. */
function row<Part>(parts: Iterable<Part>, show: Show<Part>): string {
  const texts: string[] = [];
  for (const part of parts) {
    if (texts.length === MAX_PARTS) return `${texts.join(", ")}, ...`;
    texts.push(show(part));
  }
  return texts.join(", ");
}

function valueText(value: Value, depth: number): string {
  if (depth > MAX_DEPTH) return "...";
  const part: Show<Value> = (each) => valueText(each, depth + 1);
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return `'${value.slice(0, MAX_TEXT)}'`;
  if (typeof value !== "object") return String(value);
  if (value instanceof Float) return String(value.value);
  if (value instanceof Scalar) return `np.${value.dtype}(${value.value})`;
  if (value instanceof NdArray) return arrayText(value);
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (ArrayBuffer.isView(value)) return arrayText(fromTypedArray(value as TypedArray) as NdArray);
  if (value instanceof TupleSample) return `(${row(value, part)}${value.length === 1 ? "," : ""})`;
  if (Array.isArray(value)) return `[${row(value, part)}]`;
  if (value instanceof Set) return `{${row(value, part)}}`;
  if (value instanceof Opaque) return value.text;
  if (isMapping(value)) return `{${row(entriesOf(value), ([key, each]) => `${part(key)}: ${part(each)}`)}}`;
  return `a ${value.constructor.name}`;
}

function arrayText(array: NdArray): string {
  const shape = array.shape.length === 1 ? "" : `, shape=${shapeText(array.shape)}`;
  return `array(${elementsText(array)}${shape}, dtype=${array.dtype})`;
}

function elementsText({ dtype, shape, data }: NdArray): string {
  if (Array.isArray(data) || !isNumeric(dtype) || LAYOUTS[dtype].width !== 1) return "[...]";
  const element = comparable(new NdArray(dtype, shape, data));
  return `[${row(data.keys(), (index) => String(element(index)))}]`;
}

function shapeText(shape: readonly number[]): string {
  return shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
}

/** One number for all where they are equal, as bounds mostly are. */
function boundText(bound: NdArray<TypedArray>): string {
  const element = comparable(bound);
  const equal =
    bound.size > 0 && bound.data.every((_: unknown, index: number) => element(index) === element(0));
  return equal ? String(element(0)).replace("Infinity", "inf") : elementsText(bound);
}

function spaceText(space: Space, depth: number): string {
  if (depth > MAX_DEPTH) return "...";
  const part: Show<Space> = (each) => spaceText(each, depth + 1);
  if (space instanceof Box)
    return `Box(${boundText(space.low)}, ${boundText(space.high)}, ${shapeText(space.shape)}, ${space.dtype})`;
  if (space instanceof Discrete)
    return `Discrete(${space.n}${space.start === 0 ? "" : `, start=${space.start}`})`;
  if (space instanceof MultiBinary) return `MultiBinary(${shapeText(space.shape)})`;
  if (space instanceof MultiDiscrete)
    return `MultiDiscrete(${elementsText(space.nvec)}, start=${elementsText(space.start)})`;
  if (space instanceof Text) return `Text(${space.minLength}, ${space.maxLength}, '${space.characters}')`;
  if (space instanceof Dict)
    return `Dict(${row(space.spaces, ([key, each]) => `${shownValue(key)}: ${part(each)}`)})`;
  if (space instanceof Tuple) return `Tuple(${row(space.spaces, part)})`;
  if (space instanceof OneOf) return `OneOf(${row(space.spaces, part)})`;
  if (space instanceof Sequence)
    return `Sequence(${part(space.featureSpace)}${space.stack ? ", stack=True" : ""})`;
  if (space instanceof Graph)
    return `Graph(${part(space.nodeSpace)}, ${space.edgeSpace === undefined ? "None" : part(space.edgeSpace)})`;
  return space.constructor.name;
}
