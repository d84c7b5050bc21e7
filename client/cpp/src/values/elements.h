// Numbers as elements of arrays.
#pragma once

#include <cstdint>
#include <string>

#include "envwire/error.hpp"
#include "envwire/ndarray.hpp"

namespace envwire::internal {

template <class Element, class Number>
void AppendAs(std::string* bytes, Number number) {
  const Element element = static_cast<Element>(number);
  bytes->append(reinterpret_cast<const char*>(&element), sizeof(Element));
}

// Appends a number to the bytes of an array. Throws Error (UNSUPPORTED) for complex numbers, halves, and NumPy's types.
template <class Number>
void AppendElement(std::string* bytes, DType dtype, Number number) {
  switch (dtype) {
    case DType::kBool:
    case DType::kUint8: return AppendAs<std::uint8_t>(bytes, number);
    case DType::kInt8: return AppendAs<std::int8_t>(bytes, number);
    case DType::kInt16: return AppendAs<std::int16_t>(bytes, number);
    case DType::kInt32: return AppendAs<std::int32_t>(bytes, number);
    case DType::kInt64: return AppendAs<std::int64_t>(bytes, number);
    case DType::kUint16: return AppendAs<std::uint16_t>(bytes, number);
    case DType::kUint32: return AppendAs<std::uint32_t>(bytes, number);
    case DType::kUint64: return AppendAs<std::uint64_t>(bytes, number);
    case DType::kFloat32: return AppendAs<float>(bytes, number);
    case DType::kFloat64: return AppendAs<double>(bytes, number);
    default: throw Error("UNSUPPORTED", std::string("cannot write arrays of ") + DTypeName(dtype));
  }
}

}  // namespace envwire::internal
