// Whether a value is in a space.
#include <algorithm>
#include <optional>

#include "envwire/space.hpp"
#include "spaces/batching.h"
#include "spaces/text.h"
#include "values/elements.h"

namespace envwire {
namespace {

using internal::IsIntegral;

// One integer: C++'s own, a NumPy scalar, or an array without axes; nothing for anything else.
std::optional<std::int64_t> IntegerOf(const Value& value) {
  const auto* scalar = value.If<Scalar>();
  const auto* array = scalar != nullptr ? &scalar->number : value.If<NdArray>();
  const bool is_one =
      value.Is<std::int64_t>() || (array != nullptr && array->shape().empty() && IsIntegral(array->dtype()) &&
                                   !(array->dtype() == DType::kUint64 && array->Number(0) >= 0x1p63));
  return is_one ? std::optional(value.AsInt()) : std::nullopt;
}

bool IsBetween(const NdArray& numbers, const NdArray& low, const NdArray& high) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double number = numbers.Number(i);
    if (!(number >= low.Number(i) && number <= high.Number(i))) return false;
  }
  return true;
}

bool IsBatchOf(const Space& space, const Value& batch) {
  const std::optional<std::size_t> count = internal::CountOf(space, batch);
  if (!count) return false;
  const std::vector<Value> members = internal::Unbatch(space, batch, *count);
  return std::all_of(members.begin(), members.end(), [&](const Value& each) { return space.Contains(each); });
}

// How many edges an array of pairs of nodes has; nothing where it is none.
std::optional<std::size_t> LinksOf(const Value& value, std::size_t nodes) {
  const auto* links = value.If<NdArray>();
  if (links == nullptr || !IsIntegral(links->dtype()) || links->shape().size() != 2 || links->shape()[1] != 2) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < links->size(); ++i) {
    if (links->Number(i) < 0 || links->Number(i) >= static_cast<double>(nodes)) return std::nullopt;
  }
  return links->shape()[0];
}

struct Contained {
  const Value& value;

  bool operator()(const Box& box) const {
    const auto* scalar = value.If<Scalar>();  // NumPy's samples of integers without axes
    const auto* array = scalar != nullptr ? &scalar->number : value.If<NdArray>();
    return array != nullptr && array->dtype() == box.low.dtype() && array->shape() == box.low.shape() &&
           IsBetween(*array, box.low, box.high);
  }

  bool operator()(const Discrete& space) const {
    const std::optional<std::int64_t> number = IntegerOf(value);
    return number && *number >= space.start &&
           std::uint64_t(*number) - std::uint64_t(space.start) < std::uint64_t(space.n);
  }

  bool operator()(const MultiBinary& space) const {
    const auto* array = value.If<NdArray>();
    if (array == nullptr || !IsIntegral(array->dtype()) || array->shape() != space.shape) return false;
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (array->Number(i) != 0 && array->Number(i) != 1) return false;
    }
    return true;
  }

  bool operator()(const MultiDiscrete& space) const {
    const auto* array = value.If<NdArray>();
    if (array == nullptr || !IsIntegral(array->dtype()) || array->shape() != space.nvec.shape()) return false;
    for (std::size_t i = 0; i < array->size(); ++i) {
      const double offset = array->Number(i) - space.start.Number(i);
      if (offset < 0 || offset >= space.nvec.Number(i)) return false;
    }
    return true;
  }

  bool operator()(const TextSpace& space) const {
    const auto* text = value.If<std::string>();
    if (text == nullptr) return false;
    const std::vector<std::string> alphabet = internal::Characters(space.characters);
    const std::vector<std::string> given = internal::Characters(*text);
    return given.size() >= space.min_length && given.size() <= space.max_length &&
           std::all_of(given.begin(), given.end(), [&](const std::string& each) {
             return std::find(alphabet.begin(), alphabet.end(), each) != alphabet.end();
           });
  }

  bool operator()(const DictSpace& space) const {
    const auto* dict = value.If<Dict>();
    if (dict == nullptr || dict->size() != space.entries.size()) return false;
    return std::all_of(space.entries.begin(), space.entries.end(), [&](const auto& entry) {
      const Value* part = dict->FindKey(entry.first);
      return part != nullptr && entry.second->Contains(*part);
    });
  }

  bool operator()(const TupleSpace& space) const {
    const auto* values = internal::ElementsOf(value);
    if (values == nullptr || values->size() != space.spaces.size()) return false;
    for (std::size_t i = 0; i < values->size(); ++i) {
      if (!space.spaces[i]->Contains((*values)[i])) return false;
    }
    return true;
  }

  bool operator()(const OneOf& space) const {
    const auto* pair = value.If<Tuple>();
    if (pair == nullptr || pair->values.size() != 2) return false;
    const Space index(Discrete{static_cast<std::int64_t>(space.spaces.size()), 0, DType::kInt64});
    return index.Contains(pair->values[0]) &&
           space.spaces[static_cast<std::size_t>(pair->values[0].AsInt())]->Contains(pair->values[1]);
  }

  bool operator()(const Sequence& space) const {
    if (space.stack) return IsBatchOf(*space.feature, value);
    const auto* values = value.If<Tuple>();
    return values != nullptr && std::all_of(values->values.begin(), values->values.end(),
                                            [&](const Value& each) { return space.feature->Contains(each); });
  }

  bool operator()(const GraphSpace& space) const {
    const auto* graph = value.If<Graph>();
    if (graph == nullptr || graph->nodes.empty() || !IsBatchOf(*space.node, graph->nodes.front())) return false;
    if (graph->edge_links.empty()) return graph->edges.empty();
    const std::size_t nodes = internal::CountOf(*space.node, graph->nodes.front()).value_or(0);
    const std::optional<std::size_t> links = LinksOf(graph->edge_links.front(), nodes);
    if (!links) return false;
    if (!space.edge) return graph->edges.empty();
    return !graph->edges.empty() && IsBatchOf(*space.edge, graph->edges.front()) &&
           internal::CountOf(*space.edge, graph->edges.front()) == links;
  }
};

}  // namespace

bool Space::Contains(const Value& value) const { return std::visit(Contained{value}, kind_); }

}  // namespace envwire
