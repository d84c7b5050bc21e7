// Elements of arrays: how many bytes they take, and how numbers become them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "envwire/error.hpp"
#include "envwire/ndarray.hpp"

namespace envwire::internal {

inline bool IsIntegral(DType dtype) { return dtype >= DType::kInt8 && dtype <= DType::kUint64; }

// The product of the axes and of `item`; nothing where it does not fit into a size_t.
inline std::optional<std::size_t> SizeOf(const std::vector<std::size_t>& shape, std::size_t item = 1) {
  for (const std::size_t length : shape) {
    if (__builtin_mul_overflow(item, length, &item)) return std::nullopt;
  }
  return item;
}

// A number as one of another type. Throws std::invalid_argument where it lies beyond the integers of 64 bits.
template <class To, class From>
To Converted(From number) {
  if constexpr (std::is_same_v<To, std::int64_t>) {
    const bool fits = std::is_floating_point_v<From> ? std::abs(static_cast<double>(number)) < 0x1p63
                                                     : std::is_signed_v<From> || static_cast<To>(number) >= 0;
    if (!fits) throw std::invalid_argument("the number is no integer of 64 bits");
  }
  return static_cast<To>(number);
}

template <class Element, class Number>
void AppendAs(std::string* bytes, Number number) {
  const Element element = static_cast<Element>(number);
  bytes->append(reinterpret_cast<const char*>(&element), sizeof(Element));
}

// The bits of the number of half precision that is nearest to another, ties to even.
inline std::uint16_t HalfOf(double number) {
  const unsigned sign = std::signbit(number) ? 0x8000U : 0U;
  const double size = std::abs(number);
  if (std::isnan(size)) return static_cast<std::uint16_t>(sign | 0x7e00U);
  if (size >= 65520) return static_cast<std::uint16_t>(sign | 0x7c00U);
  const int exponent = std::max(std::ilogb(size), -14);  // subnormals have the exponent of the least normal number
  // Of 1,024 steps from a power of two to the next. A normal number has as many more, which count up its exponent.
  const auto steps = static_cast<unsigned>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  return static_cast<std::uint16_t>(sign | ((static_cast<unsigned>(exponent + 14) << 10U) + steps));
}

// Appends a number to the bytes of an array. Throws Error (UNSUPPORTED) for complex numbers and NumPy's types.
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
    case DType::kFloat16: return AppendAs<std::uint16_t>(bytes, HalfOf(static_cast<double>(number)));
    case DType::kFloat32: return AppendAs<float>(bytes, number);
    case DType::kFloat64: return AppendAs<double>(bytes, number);
    default: throw Error("UNSUPPORTED", std::string("cannot write arrays of ") + DTypeName(dtype));
  }
}

}  // namespace envwire::internal
