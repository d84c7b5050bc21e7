// Samples of spaces.
#include <algorithm>
#include <cmath>
#include <limits>

#include "envwire/space.hpp"
#include "spaces/batching.h"
#include "spaces/text.h"
#include "values/elements.h"

namespace envwire {
namespace {

std::int64_t Integer(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

bool HasBound(const std::optional<NdArray>& marks, double bound, std::size_t i) {
  return marks ? marks->Number(i) != 0 : std::isfinite(bound);
}

// As Gymnasium has it: uniform between two bounds, exponential from one, normal without any.
double Number(std::mt19937_64& random, double low, double high, bool below, bool above) {
  if (below && above) return std::uniform_real_distribution<double>(low, high)(random);
  if (below) return low + std::exponential_distribution<double>()(random);
  if (above) return high - std::exponential_distribution<double>()(random);
  return std::normal_distribution<double>()(random);
}

class Sampled {
 public:
  explicit Sampled(std::mt19937_64& random) : random_(random) {}

  Value operator()(const Box& box) const {
    const DType dtype = box.low.dtype();
    const bool real = dtype == DType::kFloat16 || dtype == DType::kFloat32 || dtype == DType::kFloat64;
    std::string bytes;
    for (std::size_t i = 0; i < box.low.size(); ++i) {
      const double low = box.low.Number(i);
      const double high = box.high.Number(i) + (real ? 0 : 1);
      const double number =
          Number(random_, low, high, HasBound(box.bounded_below, low, i), HasBound(box.bounded_above, high, i));
      internal::AppendElement(&bytes, dtype, real ? number : std::floor(number));
    }
    return NdArray(dtype, box.low.shape(), std::move(bytes));
  }

  Value operator()(const Discrete& space) const {
    std::string bytes;
    internal::AppendElement(&bytes, space.dtype, Integer(random_, space.start, space.start + (space.n - 1)));
    return Scalar{NdArray(space.dtype, {}, std::move(bytes))};
  }

  Value operator()(const MultiBinary& space) const {
    std::vector<std::int8_t> bits(*internal::SizeOf(space.shape));
    for (auto& bit : bits) bit = static_cast<std::int8_t>(Integer(random_, 0, 1));
    return NdArray::Of<std::int8_t>(space.shape, bits);
  }

  Value operator()(const MultiDiscrete& space) const {
    std::string bytes;
    for (std::size_t i = 0; i < space.nvec.size(); ++i) {
      const std::int64_t start = space.start.Integer(i);
      const std::int64_t last = start + (space.nvec.Integer(i) - 1);
      internal::AppendElement(&bytes, space.nvec.dtype(), Integer(random_, start, last));
    }
    return NdArray(space.nvec.dtype(), space.nvec.shape(), std::move(bytes));
  }

  Value operator()(const TextSpace& space) const {
    const std::vector<std::string> alphabet = internal::Characters(space.characters);
    const auto length =
        Integer(random_, static_cast<std::int64_t>(space.min_length), static_cast<std::int64_t>(space.max_length));
    std::string text;
    for (std::int64_t i = 0; i < length && !alphabet.empty(); ++i) {
      text += alphabet[static_cast<std::size_t>(Integer(random_, 0, static_cast<std::int64_t>(alphabet.size()) - 1))];
    }
    return text;
  }

  Value operator()(const DictSpace& space) const {
    Dict dict;
    for (const auto& [key, part] : space.entries) dict.Add(key, part->Sample(random_));
    return dict;
  }

  Value operator()(const TupleSpace& space) const {
    Tuple tuple;
    for (const SpacePtr& part : space.spaces) tuple.values.push_back(part->Sample(random_));
    return tuple;
  }

  Value operator()(const OneOf& space) const {
    const std::int64_t index = Integer(random_, 0, static_cast<std::int64_t>(space.spaces.size()) - 1);
    return Tuple{
        {Scalar{NdArray::Of<std::int64_t>(index)}, space.spaces[static_cast<std::size_t>(index)]->Sample(random_)}};
  }

  Value operator()(const Sequence& space) const {
    std::vector<Value> samples = Many(*space.feature, std::geometric_distribution<int>(0.25)(random_));
    if (space.stack) return Together(*space.feature, samples);
    return Tuple{std::move(samples)};
  }

  // As Gymnasium has it: from 1 to 9 nodes, and fewer edges than there are pairs of them.
  Value operator()(const GraphSpace& space) const {
    const std::int64_t nodes = Integer(random_, 1, 9);
    const std::int64_t edges = Integer(random_, 0, std::max<std::int64_t>(nodes * (nodes - 1), 1) - 1);
    Graph graph;
    graph.nodes.push_back(Together(*space.node, Many(*space.node, nodes)));
    if (edges == 0 || !space.edge) return graph;
    graph.edges.push_back(Together(*space.edge, Many(*space.edge, edges)));
    std::vector<std::int32_t> links(2 * static_cast<std::size_t>(edges));
    for (auto& node : links) node = static_cast<std::int32_t>(Integer(random_, 0, nodes - 1));
    graph.edge_links.emplace_back(NdArray::Of<std::int32_t>({static_cast<std::size_t>(edges), 2}, links));
    return graph;
  }

 private:
  std::vector<Value> Many(const Space& space, std::int64_t count) const {
    std::vector<Value> samples;
    for (std::int64_t i = 0; i < count; ++i) samples.push_back(space.Sample(random_));
    return samples;
  }

  static Value Together(const Space& space, const std::vector<Value>& samples) {
    std::vector<const Value*> each;
    each.reserve(samples.size());
    for (const Value& sample : samples) each.push_back(&sample);
    return internal::Batch(space, each);
  }

  std::mt19937_64& random_;
};

}  // namespace

Value Space::Sample(std::mt19937_64& random) const { return std::visit(Sampled(random), kind_); }

}  // namespace envwire
