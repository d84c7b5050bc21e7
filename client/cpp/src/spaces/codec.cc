#include "spaces/codec.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "envwire/error.hpp"
#include "values/codec.h"
#include "values/elements.h"

namespace envwire::internal {
namespace {

// Elements of `array` that are finite, as the contract marks bounds.
NdArray Finite(const NdArray& array) {
  std::string marks;
  for (std::size_t i = 0; i < array.size(); ++i) marks += std::isfinite(array.Number(i)) ? '\1' : '\0';
  return NdArray(DType::kBool, array.shape(), std::move(marks));
}

// Writes one element in place of many where all have the same bytes, as the bounds of an image's box have.
void EncodeUniform(const NdArray& array, v1::Tensor* message) {
  const std::size_t size = array.size();
  const std::size_t item = size > 0 ? array.byte_size() / size : 0;
  if (size < 2 || std::memcmp(array.bytes(), array.bytes() + item, array.byte_size() - item) != 0) {
    return Encode(array, message);
  }
  Encode(NdArray(array.dtype(), {}, std::string(array.bytes(), item)), message);
  for (const std::size_t length : array.shape()) message->add_shape(length);
  message->set_fill(true);
}

// Spaces that were written, with their numbers in the order in which they ended.
using Ended = std::map<const Space*, std::uint32_t>;

void EncodeInTree(const Space& space, v1::Space* message, Ended* ended);

struct Encoder {
  v1::Space* message;
  Ended* ended;

  void operator()(const Box& box) const {
    v1::BoxSpace* out = message->mutable_box();
    EncodeUniform(box.low, out->mutable_low());
    EncodeUniform(box.high, out->mutable_high());
    EncodeUniform(box.bounded_below.value_or(Finite(box.low)), out->mutable_bounded_below());
    EncodeUniform(box.bounded_above.value_or(Finite(box.high)), out->mutable_bounded_above());
  }
  void operator()(const Discrete& space) const {
    v1::DiscreteSpace* out = message->mutable_discrete();
    out->set_n(space.n);
    out->set_start(space.start);
    out->set_data_type(static_cast<v1::DataType>(space.dtype));
  }
  void operator()(const MultiBinary& space) const {
    for (const std::size_t length : space.shape) message->mutable_multi_binary()->add_shape(length);
    message->mutable_multi_binary()->set_flat(false);
  }
  void operator()(const MultiDiscrete& space) const {
    EncodeUniform(space.nvec, message->mutable_multi_discrete()->mutable_nvec());
    EncodeUniform(space.start, message->mutable_multi_discrete()->mutable_start());
  }
  void operator()(const TextSpace& space) const {
    message->mutable_text()->set_min_length(space.min_length);
    message->mutable_text()->set_max_length(space.max_length);
    message->mutable_text()->set_characters(space.characters);
  }
  void operator()(const DictSpace& space) const {
    message->mutable_dict()->set_sort_keys(space.sort_keys);
    for (const auto& [key, part] : space.entries) {
      v1::DictSpaceEntry* entry = message->mutable_dict()->add_entries();
      Encode(key, entry->mutable_key());
      EncodeInTree(*part, entry->mutable_space(), ended);
    }
  }
  void operator()(const TupleSpace& space) const {
    message->mutable_tuple();
    for (const SpacePtr& part : space.spaces) EncodeInTree(*part, message->mutable_tuple()->add_spaces(), ended);
  }
  void operator()(const OneOf& space) const {
    for (const SpacePtr& part : space.spaces) EncodeInTree(*part, message->mutable_one_of()->add_spaces(), ended);
  }
  void operator()(const Sequence& space) const {
    message->mutable_sequence()->set_stack(space.stack);
    EncodeInTree(*space.feature, message->mutable_sequence()->mutable_feature_space(), ended);
  }
  void operator()(const GraphSpace& space) const {
    EncodeInTree(*space.node, message->mutable_graph()->mutable_node_space(), ended);
    if (space.edge) EncodeInTree(*space.edge, message->mutable_graph()->mutable_edge_space(), ended);
  }
};

// A space that stands in a second place refers to the first.
void EncodeInTree(const Space& space, v1::Space* message, Ended* ended) {
  if (const auto first = ended->find(&space); first != ended->end()) return message->set_same_as(first->second);
  std::visit(Encoder{message, ended}, space.kind());
  ended->emplace(&space, static_cast<std::uint32_t>(ended->size()));
}

// As many as a message may hold by default.
constexpr std::size_t kMostBits = std::size_t{256} << 20U;

// Whether a space can be sampled, and asked what it contains.
struct Sound {
  bool operator()(const Box& box) const {
    const auto fits = [&](const std::optional<NdArray>& marks) {
      return !marks || (marks->shape() == box.low.shape() && marks->dtype() == DType::kBool);
    };
    return box.low.dtype() <= DType::kFloat64 && box.high.dtype() == box.low.dtype() &&
           box.high.shape() == box.low.shape() && fits(box.bounded_below) && fits(box.bounded_above);
  }
  bool operator()(const Discrete& space) const {
    return IsIntegral(space.dtype) && space.n > 0 &&
           space.start <= std::numeric_limits<std::int64_t>::max() - (space.n - 1);
  }
  bool operator()(const MultiBinary& space) const { return SizeOf(space.shape).value_or(kMostBits + 1) <= kMostBits; }
  bool operator()(const MultiDiscrete& space) const {
    if (!IsIntegral(space.nvec.dtype()) || !IsIntegral(space.start.dtype())) return false;
    if (space.start.shape() != space.nvec.shape()) return false;
    for (std::size_t i = 0; i < space.nvec.size(); ++i) {
      const double count = space.nvec.Number(i);
      if (count < 1 || space.start.Number(i) + count - 1 >= 0x1p63) return false;
    }
    return true;
  }
  bool operator()(const TextSpace& space) const { return space.min_length <= space.max_length; }
  bool operator()(const OneOf& space) const { return !space.spaces.empty(); }
  template <class Other>
  bool operator()(const Other&) const {
    return true;
  }
};

// Spaces of one tree, in the order in which they end: `same_as` refers to them by number.
class Decoder {
 public:
  SpacePtr Decode(v1::Space* message) {
    if (message->kind_case() == v1::Space::kSameAs) {
      if (message->same_as() >= ended_.size()) throw Error("INVALID_VALUE", "a space refers to one that is not there");
      return ended_[message->same_as()];
    }
    auto space = std::make_shared<const Space>(KindOf(message));
    if (!std::visit(Sound{}, space->kind())) throw Error("INVALID_VALUE", "a space breaks the contract");
    ended_.push_back(space);
    return space;
  }

 private:
  template <class Message>
  auto Read(Message* message) {
    return internal::Decode(message, {}, &fills_);
  }

  Space::Kind KindOf(v1::Space* message) {
    switch (message->kind_case()) {
      case v1::Space::kBox: return BoxOf(message->mutable_box());
      case v1::Space::kDiscrete:
        return Discrete{message->discrete().n(), message->discrete().start(),
                        static_cast<DType>(message->discrete().data_type())};
      case v1::Space::kMultiBinary:
        return MultiBinary{{message->multi_binary().shape().begin(), message->multi_binary().shape().end()}};
      case v1::Space::kMultiDiscrete:
        return MultiDiscrete{Read(message->mutable_multi_discrete()->mutable_nvec()),
                             Read(message->mutable_multi_discrete()->mutable_start())};
      case v1::Space::kText:
        return TextSpace{message->text().min_length(), message->text().max_length(), message->text().characters()};
      case v1::Space::kDict: return DictOf(message->mutable_dict());
      case v1::Space::kTuple: return TupleSpace{All(message->mutable_tuple()->mutable_spaces())};
      case v1::Space::kOneOf: return OneOf{All(message->mutable_one_of()->mutable_spaces())};
      case v1::Space::kSequence:
        return Sequence{Decode(message->mutable_sequence()->mutable_feature_space()), message->sequence().stack()};
      case v1::Space::kGraph: return GraphOf(message->mutable_graph());
      default: throw Error("UNSUPPORTED", "a space is of a kind that this version does not know");
    }
  }

  Box BoxOf(v1::BoxSpace* message) {
    Box box{Read(message->mutable_low()), Read(message->mutable_high())};
    if (message->has_bounded_below()) box.bounded_below = Read(message->mutable_bounded_below());
    if (message->has_bounded_above()) box.bounded_above = Read(message->mutable_bounded_above());
    return box;
  }

  DictSpace DictOf(v1::DictSpace* message) {
    DictSpace dict;
    dict.sort_keys = message->sort_keys();
    for (v1::DictSpaceEntry& entry : *message->mutable_entries()) {
      Value key = Read(entry.mutable_key());
      dict.entries.emplace_back(std::move(key), Decode(entry.mutable_space()));
    }
    return dict;
  }

  GraphSpace GraphOf(v1::GraphSpace* message) {
    GraphSpace graph{Decode(message->mutable_node_space()), nullptr};
    if (message->has_edge_space()) graph.edge = Decode(message->mutable_edge_space());
    return graph;
  }

  std::vector<SpacePtr> All(google::protobuf::RepeatedPtrField<v1::Space>* messages) {
    std::vector<SpacePtr> spaces;
    for (v1::Space& each : *messages) spaces.push_back(Decode(&each));
    return spaces;
  }

  // Bounds are two arrays, each of them as large as a message of a server with default settings.
  FillAllowance fills_{std::size_t{512} << 20U};
  std::vector<SpacePtr> ended_;
};

}  // namespace

void Encode(const Space& space, v1::Space* message) {
  Ended ended;
  EncodeInTree(space, message, &ended);
}

Space Decode(v1::Space* message) { return *Decoder().Decode(message); }

}  // namespace envwire::internal
