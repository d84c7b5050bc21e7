// Spaces: the sets of possible observations and actions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "envwire/value.hpp"

namespace envwire {

class Space;
using SpacePtr = std::shared_ptr<const Space>;

// Arrays of one shape and type, each element between its bounds, which are included.
struct Box {
  NdArray low;
  NdArray high;
  // Which elements have a bound (kBool); where absent, those whose bound is finite. Integers without a bound have the
  // least or the largest of their type.
  std::optional<NdArray> bounded_below = std::nullopt;
  std::optional<NdArray> bounded_above = std::nullopt;
};

// The integers start, start + 1, ..., start + n - 1.
struct Discrete {
  std::int64_t n = 1;
  std::int64_t start = 0;
  DType dtype = DType::kInt64;
};

// Arrays of int8 zeros and ones.
struct MultiBinary {
  std::vector<std::size_t> shape;
};

// Arrays whose element i lies in start[i] .. start[i] + nvec[i] - 1.
struct MultiDiscrete {
  NdArray nvec;
  NdArray start;
};

// Texts of min_length .. max_length of these characters (UTF-8).
struct TextSpace {
  std::uint64_t min_length = 0;
  std::uint64_t max_length = 0;
  std::string characters;
};

struct DictSpace {
  std::vector<std::pair<Value, SpacePtr>> entries;  // in the order of sampling
  bool sort_keys = true;
};

struct TupleSpace {
  std::vector<SpacePtr> spaces;
};

// A tuple of the index of one of the spaces and a sample of it.
struct OneOf {
  std::vector<SpacePtr> spaces;
};

// Sequences of samples of one space: a tuple, or with `stack` one batched value.
struct Sequence {
  SpacePtr feature;
  bool stack = false;
};

struct GraphSpace {
  SpacePtr node;
  SpacePtr edge;  // nullptr if edges have no values
};

// A space of any of these kinds.
class Space {
 public:
  using Kind = std::variant<Box, Discrete, MultiBinary, MultiDiscrete, TextSpace, DictSpace, TupleSpace, OneOf,
                            Sequence, GraphSpace>;

  Space() : kind_(Discrete{}) {}
  Space(Kind kind) : kind_(std::move(kind)) {}  // NOLINT: implicit on purpose
  // Takes each of the kinds: Discrete{2}, TextSpace{0, 10, "ab"}.
  template <class T,
            class = std::enable_if_t<!std::is_same_v<std::decay_t<T>, Space> && !std::is_same_v<std::decay_t<T>, Kind>>>
  Space(T&& kind) : kind_(std::forward<T>(kind)) {}  // NOLINT: implicit on purpose
  // A box whose elements all lie between two numbers: Space::Uniform<float>({84, 84}, 0, 1).
  template <class T>
  static Space Uniform(std::vector<std::size_t> shape, T low, T high) {
    std::size_t size = 1;
    for (const std::size_t length : shape) size *= length;
    return Space(
        Box{NdArray::Of<T>(shape, std::vector<T>(size, low)), NdArray::Of<T>(shape, std::vector<T>(size, high))});
  }

  const Kind& kind() const { return kind_; }
  template <class T>
  const T* If() const {
    return std::get_if<T>(&kind_);
  }

  // Whether a value is in the space: its kind, type, shape and bounds. Integers and floats of C++ are taken for the
  // NumPy types that they stand for.
  bool Contains(const Value& value) const;

  // Draws a sample. Samples differ from those of NumPy.
  Value Sample(std::mt19937_64& random) const;

 private:
  Kind kind_;
};

}  // namespace envwire
