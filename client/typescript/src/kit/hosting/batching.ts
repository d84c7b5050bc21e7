/** Batches of samples and of spaces, as in Gymnasium's vector environments. */

import { Box, Discrete, MultiBinary, MultiDiscrete } from "../../spaces/arrays.js";
import { Dict, Tuple } from "../../spaces/composite.js";
import type { Space } from "../../spaces/space.js";
import { LAYOUTS, type NumericDType, type TypedArray } from "../../values/dtypes.js";
import { entriesOf, isMapping, mappingOf } from "../../values/mappings.js";
import { array, Float, type Mapping, NdArray, Scalar, tuple, type Value } from "../../values/types.js";

/** Returns the batched space for `count` samples of a space. */
export function batchSpace(space: Space, count: number): Space {
  if (space instanceof Box) return new Box(repeated(space.low, count), repeated(space.high, count));
  if (space instanceof Discrete)
    return new MultiDiscrete(same(space.dtype, count, space.n), same(space.dtype, count, space.start));
  if (space instanceof MultiBinary) return binaryBox(space, count);
  if (space instanceof MultiDiscrete) return discreteBox(space, count);
  if (space instanceof Dict)
    return new Dict(new Map([...space.spaces].map(([key, part]) => [key, batchSpace(part, count)])));
  if (space instanceof Tuple) return new Tuple(space.spaces.map((part) => batchSpace(part, count)));
  return new Tuple(Array<Space>(count).fill(space));
}

function repeated(one: NdArray<TypedArray>, count: number): NdArray<TypedArray> {
  return stacked(one.dtype as NumericDType, one.shape, Array<NdArray<TypedArray>>(count).fill(one));
}

function same(dtype: NumericDType, count: number, value: number): NdArray<TypedArray> {
  return array(dtype, [count], Array<number>(count).fill(value));
}

function binaryBox({ shape }: MultiBinary, count: number): Box {
  const zeros = array("int8", shape);
  return new Box(
    repeated(zeros, count),
    repeated(array("int8", shape, Array<number>(zeros.size).fill(1)), count),
  );
}

function discreteBox({ start, nvec, dtype, shape }: MultiDiscrete, count: number): Box {
  const last = Array.from(
    { length: nvec.size },
    (_, index) => BigInt(nvec.data[index] ?? 0) + BigInt(start.data[index] ?? 0) - 1n,
  );
  const highest = dtype.endsWith("64") ? last : last.map(Number);
  return new Box(repeated(start, count), repeated(array(dtype, shape, highest), count));
}

/** Puts arrays of one shape together along a new first axis. */
function stacked(
  dtype: NumericDType,
  shape: readonly number[],
  parts: readonly NdArray<TypedArray>[],
): NdArray<TypedArray> {
  const { array: TypedArrayOf, width } = LAYOUTS[dtype];
  const size = shape.reduce((product, length) => product * length, width as number);
  const data: TypedArray = new TypedArrayOf(size * parts.length);
  parts.forEach((part, index) => {
    data.set(part.data as never, index * size);
  });
  return new NdArray(dtype, [parts.length, ...shape], data);
}

/** Puts samples of a space together; arrays and numbers become one array. */
export function batch(space: Space, samples: readonly Value[]): Value {
  if (space instanceof Box) return stacked(space.dtype, space.shape, samples as NdArray<TypedArray>[]);
  if (space instanceof MultiDiscrete)
    return stacked(space.dtype, space.shape, samples as NdArray<TypedArray>[]);
  if (space instanceof MultiBinary) return stacked("int8", space.shape, samples as NdArray<TypedArray>[]);
  if (space instanceof Discrete) return array(space.dtype, [samples.length], samples.map(Number));
  if (space instanceof Dict) {
    const parts = [...space.spaces].map(([key, part]): [Value, Value] => [
      key,
      batch(
        part,
        samples.map((each) => entry(each, key)),
      ),
    ]);
    return mappingOf(parts);
  }
  if (space instanceof Tuple)
    return tuple(
      ...space.spaces.map((part, index) =>
        batch(
          part,
          samples.map((each) => (each as Value[])[index] as Value),
        ),
      ),
    );
  return tuple(...samples);
}

/** Returns the sample of each member from a batch. */
export function unbatch(space: Space, together: Value, count: number): Value[] {
  const members = Array.from({ length: count }, (_, member) => member);
  if (together instanceof NdArray)
    return members.map((member) => row(space, together as NdArray<TypedArray>, member));
  if (space instanceof Dict) {
    const parts = [...space.spaces].map(
      ([key, part]) => [key, unbatch(part, entry(together, key), count)] as const,
    );
    return members.map((member) => mappingOf(parts.map(([key, rows]) => [key, rows[member] as Value])));
  }
  if (space instanceof Tuple && Array.isArray(together)) {
    const parts = space.spaces.map((part, index) => unbatch(part, together[index] as Value, count));
    return members.map((member) => tuple(...parts.map((rows) => rows[member] as Value)));
  }
  return members.map((member) => (together as Value[])[member] as Value);
}

function row(space: Space, { dtype, shape, data }: NdArray<TypedArray>, member: number): Value {
  const size = data.length / (shape[0] ?? 1);
  const part = data.slice(member * size, (member + 1) * size) as TypedArray;
  return space instanceof Discrete ? new Scalar(dtype, part) : new NdArray(dtype, shape.slice(1), part);
}

function entry(mapping: Value, key: Value): Value {
  if (mapping instanceof Map) return mapping.get(key) as Value;
  return (mapping as Record<string, Value>)[key as string] as Value;
}

/** Merges the infos of members into columns. For each key there is also "_key", a mask of the members that have it. */
export function batchInfos(infos: readonly Mapping[]): Mapping {
  const rows = infos.map((info) => new Map(entriesOf(info)));
  const keys = new Set(rows.flatMap((each) => [...each.keys()]));
  const columns: [Value, Value][] = [];
  for (const key of keys) {
    columns.push([key, column(rows.map((each) => each.get(key)))]);
    columns.push([
      `_${key}`,
      array(
        "bool",
        [rows.length],
        rows.map((each) => each.has(key)),
      ),
    ]);
  }
  return mappingOf(columns);
}

function column(values: readonly (Value | undefined)[]): Value {
  const present = values.filter((value) => value !== undefined);
  if (present.every(isMapping))
    return batchInfos(values.map((value) => (value as Mapping | undefined) ?? {}));
  if (present.every(Number.isInteger))
    return array(
      "int64",
      [values.length],
      values.map((value) => (value as number | undefined) ?? 0),
    );
  if (present.every((value) => typeof value === "number" || value instanceof Float))
    return array(
      "float64",
      [values.length],
      values.map((value) => Number(value ?? 0)),
    );
  if (present.every((value) => typeof value === "boolean"))
    return array("bool", [values.length], values.map(Boolean));
  return new NdArray(
    "object",
    [values.length],
    values.map((value) => value ?? null),
  );
}
