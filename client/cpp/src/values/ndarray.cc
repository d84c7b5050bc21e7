#include "envwire/ndarray.hpp"

#include <array>

#include "values/elements.h"

namespace envwire {
namespace {

struct Kind {
  const char* name;
  std::size_t item_size;
};

constexpr std::array<Kind, 16> kKinds = {{{"unspecified", 0},
                                          {"bool", 1},
                                          {"int8", 1},
                                          {"int16", 2},
                                          {"int32", 4},
                                          {"int64", 8},
                                          {"uint8", 1},
                                          {"uint16", 2},
                                          {"uint32", 4},
                                          {"uint64", 8},
                                          {"float16", 2},
                                          {"float32", 4},
                                          {"float64", 8},
                                          {"complex64", 8},
                                          {"complex128", 16},
                                          {"numpy", 0}}};

const Kind& KindOf(DType dtype) { return kKinds.at(static_cast<std::size_t>(dtype)); }

std::size_t Product(const std::vector<std::size_t>& shape, std::size_t item = 1) {
  if (const auto product = internal::SizeOf(shape, item)) return *product;
  throw std::invalid_argument("the shape of an array is too large");
}

void CheckSize(DType dtype, const std::vector<std::size_t>& shape, std::size_t bytes) {
  const std::size_t expected = Product(shape, ItemSize(dtype));
  if (ItemSize(dtype) != 0 && expected != bytes) {
    throw std::invalid_argument("an array of " + std::string(DTypeName(dtype)) + " has " + std::to_string(bytes) +
                                " bytes, its shape asks for " + std::to_string(expected));
  }
}

template <class To, class T>
To Read(const char* bytes, std::size_t index) {
  T number;
  std::memcpy(&number, bytes + index * sizeof(T), sizeof(T));
  return internal::Converted<To>(number);
}

double ReadHalf(const char* bytes, std::size_t index) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes + index * 2, 2);
  const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
  const int exponent = (bits >> 10U) & 0x1f;
  const double fraction = (bits & 0x3ffU) / 1024.0;
  if (exponent == 0x1f) return fraction == 0 ? sign / 0.0 : 0.0 / 0.0;
  if (exponent == 0) return sign * fraction * 0x1p-14;
  return sign * (1.0 + fraction) * static_cast<double>(1U << static_cast<unsigned>(exponent)) * 0x1p-15;
}

template <class To>
To Element(const NdArray& array, std::size_t index) {
  if (index >= array.size()) throw std::out_of_range("the array has no element " + std::to_string(index));
  const char* bytes = array.bytes();
  switch (array.dtype()) {
    case DType::kBool:
    case DType::kUint8: return Read<To, std::uint8_t>(bytes, index);
    case DType::kInt8: return Read<To, std::int8_t>(bytes, index);
    case DType::kInt16: return Read<To, std::int16_t>(bytes, index);
    case DType::kInt32: return Read<To, std::int32_t>(bytes, index);
    case DType::kInt64: return Read<To, std::int64_t>(bytes, index);
    case DType::kUint16: return Read<To, std::uint16_t>(bytes, index);
    case DType::kUint32: return Read<To, std::uint32_t>(bytes, index);
    case DType::kUint64: return Read<To, std::uint64_t>(bytes, index);
    case DType::kFloat16: return internal::Converted<To>(ReadHalf(bytes, index));
    case DType::kFloat32: return Read<To, float>(bytes, index);
    case DType::kFloat64: return Read<To, double>(bytes, index);
    case DType::kComplex64:
    case DType::kComplex128:
    case DType::kNumpy: break;
  }
  throw std::invalid_argument(std::string("elements of ") + DTypeName(array.dtype()) + " are no real numbers");
}

}  // namespace

std::size_t ItemSize(DType dtype) { return KindOf(dtype).item_size; }
const char* DTypeName(DType dtype) { return KindOf(dtype).name; }

NdArray::NdArray() : NdArray(DType::kFloat64, {}, std::string(8, '\0')) {}

NdArray::NdArray(DType dtype, std::vector<std::size_t> shape, std::string elements, std::string numpy_type)
    : dtype_(dtype), shape_(std::move(shape)), bytes_(elements.size()), numpy_type_(std::move(numpy_type)) {
  CheckSize(dtype_, shape_, bytes_);
  auto owner = std::make_shared<const std::string>(std::move(elements));
  elements_ = std::shared_ptr<const char>(owner, owner->data());
}

NdArray::NdArray(DType dtype, std::vector<std::size_t> shape, std::shared_ptr<const char> elements, std::size_t size,
                 std::string numpy_type)
    : dtype_(dtype),
      shape_(std::move(shape)),
      elements_(std::move(elements)),
      bytes_(size),
      numpy_type_(std::move(numpy_type)) {
  CheckSize(dtype_, shape_, bytes_);
}

std::size_t NdArray::size() const { return Product(shape_); }

double NdArray::Number(std::size_t index) const { return Element<double>(*this, index); }
std::int64_t NdArray::Integer(std::size_t index) const { return Element<std::int64_t>(*this, index); }

bool operator==(const NdArray& one, const NdArray& other) {
  return one.dtype_ == other.dtype_ && one.shape_ == other.shape_ && one.bytes_ == other.bytes_ &&
         one.numpy_type_ == other.numpy_type_ && std::memcmp(one.bytes(), other.bytes(), one.bytes_) == 0;
}

}  // namespace envwire
