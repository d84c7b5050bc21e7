// Values of observations, actions, infos, options and attributes.
#pragma once

#include <complex>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "envwire/ndarray.hpp"

namespace envwire {

class Value;

// Python's None.
struct None {
  friend bool operator==(None, None) { return true; }
};

// An integer beyond 64 bits: two's complement, little-endian.
struct BigInt {
  std::string bytes;
  friend bool operator==(const BigInt& one, const BigInt& other) { return one.bytes == other.bytes; }
};

struct Bytes {
  std::string data;
  friend bool operator==(const Bytes& one, const Bytes& other) { return one.data == other.data; }
};

// A NumPy scalar, which is distinct from an array without axes.
struct Scalar {
  NdArray number;
  double AsDouble() const { return number.Number(0); }
  friend bool operator==(const Scalar& one, const Scalar& other) { return one.number == other.number; }
};

// Sequences of values. Lists, tuples and sets are distinct types.
struct List {
  std::vector<Value> values;
};
struct Tuple {
  std::vector<Value> values;
};
struct Set {
  std::vector<Value> values;
};

// A dictionary that keeps its order. Keys are texts, or integers, tuples and so on.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  Dict();
  Dict(std::initializer_list<std::pair<std::string, Value>> entries);

  // The value at a text key, or nullptr.
  const Value* Find(std::string_view key) const;
  // The value at a key of any kind, or nullptr.
  const Value* FindKey(const Value& key) const;
  // The value at a text key. Throws std::out_of_range, which names the key.
  const Value& at(std::string_view key) const;
  bool Has(std::string_view key) const { return Find(key) != nullptr; }
  // Appends an entry without a check whether the key exists.
  void Add(Value key, Value value);

  const std::vector<Entry>& entries() const { return entries_; }
  std::size_t size() const;
  bool empty() const { return size() == 0; }

 private:
  std::vector<Entry> entries_;
};

// An array whose elements are values (NumPy's dtype object).
struct ObjectArray {
  std::vector<std::size_t> shape;
  std::vector<Value> values;
};

// A sample of a graph space. `edges` and `edge_links` are empty where there are none.
struct Graph {
  std::vector<Value> nodes;       // one
  std::vector<Value> edges;       // one, or none
  std::vector<Value> edge_links;  // one, or none
};

struct EnumMember {
  std::string enumeration;
  std::string member;
};

struct TextStream {
  std::string text;
};

// An object without a wire form: its class and its repr. Requests that hold one are refused.
struct Opaque {
  std::string type_name;
  std::string text;
};

// One value of any of these types.
class Value {
 public:
  using Kind = std::variant<None, bool, std::int64_t, BigInt, double, std::string, Bytes, NdArray, Scalar, List, Tuple,
                            Dict, std::complex<double>, ObjectArray, Graph, EnumMember, TextStream, Set, Opaque>;

  Value() = default;
  // Takes anything that `Kind` holds, and integers and texts of every C++ type.
  template <class T, class = std::enable_if_t<!std::is_same_v<std::decay_t<T>, Value>>>
  Value(T&& given) : kind_(Convert(std::forward<T>(given))) {}  // NOLINT: implicit on purpose

  const Kind& kind() const { return kind_; }

  template <class T>
  bool Is() const {
    return std::holds_alternative<T>(kind_);
  }
  // The value as a T. Throws std::bad_variant_access where it is another.
  template <class T>
  const T& As() const {
    return std::get<T>(kind_);
  }
  template <class T>
  const T* If() const {
    return std::get_if<T>(&kind_);
  }

  // A number of any type, bool and scalars included. Throws std::invalid_argument for what is none, or too large.
  double AsDouble() const;
  std::int64_t AsInt() const;

  // Shortcuts for common types of observations.
  const NdArray& array() const { return As<NdArray>(); }
  const Dict& dict() const { return As<Dict>(); }
  const std::vector<Value>& tuple() const { return As<Tuple>().values; }
  const std::string& text() const { return As<std::string>(); }

 private:
  template <class T>
  static Kind Convert(T&& given) {
    using Plain = std::decay_t<T>;
    if constexpr (std::is_same_v<Plain, bool>) {
      return given;
    } else if constexpr (std::is_integral_v<Plain>) {
      const auto number = static_cast<std::int64_t>(given);
      if (std::is_signed_v<Plain> || number >= 0) return number;
      return BigInt{std::string(reinterpret_cast<const char*>(&number), sizeof(number)) + '\0'};
    } else if constexpr (std::is_floating_point_v<Plain>) {
      return static_cast<double>(given);
    } else if constexpr (std::is_convertible_v<Plain, std::string_view> && !std::is_same_v<Plain, std::string>) {
      return std::string(std::string_view(given));
    } else {
      return Kind(std::forward<T>(given));
    }
  }

  Kind kind_;
};

inline Dict::Dict() = default;
inline std::size_t Dict::size() const { return entries_.size(); }

// The bytes of a value: a serialised `envwire.v1.Value`.
std::string EncodeValue(const Value& value);
Value DecodeValue(std::string_view bytes);

}  // namespace envwire
