export { decodeValue } from "./decoding.js";
export { type DType, halfToNumber, type NumericDType, type TypedArray } from "./dtypes.js";
export { encodeValue, ValueError } from "./encoding.js";
export {
  array,
  Complex,
  type Dict,
  EnumMember,
  Float,
  Graph,
  type Mapping,
  NdArray,
  Opaque,
  Scalar,
  TextStream,
  Tuple,
  tuple,
  type Value,
} from "./types.js";
