// Arrays of numbers: type, shape, and elements in C order that are shared instead of copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace envwire {

// Element types. The numbers are those of `DataType` in values.proto.
enum class DType {
  kBool = 1,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat16,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,
  kNumpy,  // a fixed-width text, bytes or time type of NumPy; NdArray::numpy_type names it
};

// Bytes of one element; 0 for kNumpy, whose name tells.
std::size_t ItemSize(DType dtype);
// NumPy's name: "float32".
const char* DTypeName(DType dtype);

namespace internal {
template <class T>
struct DTypeOf;
#define ENVWIRE_DTYPE(type, name)                \
  template <>                                    \
  struct DTypeOf<type> {                         \
    static constexpr DType kValue = DType::name; \
  };
ENVWIRE_DTYPE(bool, kBool)
ENVWIRE_DTYPE(std::int8_t, kInt8)
ENVWIRE_DTYPE(std::int16_t, kInt16)
ENVWIRE_DTYPE(std::int32_t, kInt32)
ENVWIRE_DTYPE(std::int64_t, kInt64)
ENVWIRE_DTYPE(std::uint8_t, kUint8)
ENVWIRE_DTYPE(std::uint16_t, kUint16)
ENVWIRE_DTYPE(std::uint32_t, kUint32)
ENVWIRE_DTYPE(std::uint64_t, kUint64)
ENVWIRE_DTYPE(float, kFloat32)
ENVWIRE_DTYPE(double, kFloat64)
#undef ENVWIRE_DTYPE
}  // namespace internal

// A view of an array's elements. It must not outlive the array.
template <class T>
class ArrayView {
 public:
  ArrayView(const T* data, std::size_t size) : data_(data), size_(size) {}
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T& operator[](std::size_t index) const { return data_[index]; }

 private:
  const T* data_;
  std::size_t size_;
};

// An array of any number of axes. Copies share the elements, which are immutable.
class NdArray {
 public:
  // One zero of float64.
  NdArray();

  // Takes ownership of elements. Throws std::invalid_argument if their number does not match the shape.
  NdArray(DType dtype, std::vector<std::size_t> shape, std::string elements, std::string numpy_type = "");

  // Shares `size` bytes that `elements` keeps alive.
  NdArray(DType dtype, std::vector<std::size_t> shape, std::shared_ptr<const char> elements, std::size_t size,
          std::string numpy_type = "");

  // Copies numbers: NdArray::Of<float>({2}, {0.5F, 1.0F}).
  template <class T>
  static NdArray Of(std::vector<std::size_t> shape, const std::vector<T>& numbers) {
    static_assert(!std::is_same_v<T, bool>, "use std::vector<std::uint8_t> and DType::kBool");
    return NdArray(internal::DTypeOf<T>::kValue, std::move(shape),
                   std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)));
  }

  // One number without axes.
  template <class T>
  static NdArray Of(T number) {
    return NdArray(internal::DTypeOf<T>::kValue, {}, std::string(reinterpret_cast<const char*>(&number), sizeof(T)));
  }

  DType dtype() const { return dtype_; }
  const std::vector<std::size_t>& shape() const { return shape_; }
  // Number of elements.
  std::size_t size() const;
  // The elements in wire format: little-endian, in C order.
  const char* bytes() const { return elements_.get(); }
  std::size_t byte_size() const { return bytes_; }
  const std::string& numpy_type() const { return numpy_type_; }

  // Returns a view of the elements without a copy. Throws std::invalid_argument if they have another type.
  template <class T>
  ArrayView<T> View() const {
    if (internal::DTypeOf<T>::kValue != dtype_) {
      throw std::invalid_argument(std::string("the array holds ") + DTypeName(dtype_) + ", not " +
                                  DTypeName(internal::DTypeOf<T>::kValue));
    }
    return ArrayView<T>(reinterpret_cast<const T*>(elements_.get()), size());
  }

  // Element `index` in C order, whatever number type it has. Complex numbers and kNumpy are refused.
  double Number(std::size_t index) const;
  // The same as an integer, without its fraction. Throws std::invalid_argument for what 64 bits do not hold.
  std::int64_t Integer(std::size_t index) const;

  friend bool operator==(const NdArray& one, const NdArray& other);
  friend bool operator!=(const NdArray& one, const NdArray& other) { return !(one == other); }

 private:
  DType dtype_;
  std::vector<std::size_t> shape_;
  std::shared_ptr<const char> elements_;
  std::size_t bytes_;
  std::string numpy_type_;
};

}  // namespace envwire
