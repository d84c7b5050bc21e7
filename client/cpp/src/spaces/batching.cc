#include "spaces/batching.h"

#include <optional>

#include "values/elements.h"

namespace envwire::internal {
namespace {

std::vector<std::size_t> WithAxis(std::size_t count, const std::vector<std::size_t>& shape) {
  std::vector<std::size_t> batched{count};
  batched.insert(batched.end(), shape.begin(), shape.end());
  return batched;
}

NdArray Repeated(const NdArray& one, std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) bytes.append(one.bytes(), one.byte_size());
  return NdArray(one.dtype(), WithAxis(count, one.shape()), std::move(bytes));
}

NdArray Filled(DType dtype, const std::vector<std::size_t>& shape, std::int64_t number) {
  std::string bytes;
  for (std::size_t left = *SizeOf(shape); left > 0; --left) AppendElement(&bytes, dtype, number);
  return NdArray(dtype, shape, std::move(bytes));
}

NdArray Last(const MultiDiscrete& space) {
  std::string bytes;
  for (std::size_t i = 0; i < space.nvec.size(); ++i) {
    AppendElement(&bytes, space.nvec.dtype(), space.nvec.Number(i) + space.start.Number(i) - 1);
  }
  return NdArray(space.nvec.dtype(), space.nvec.shape(), std::move(bytes));
}

SpacePtr Shared(Space space) { return std::make_shared<const Space>(std::move(space)); }

struct BatchedSpace {
  std::size_t count;

  Space operator()(const Box& box) const {
    Box batched{Repeated(box.low, count), Repeated(box.high, count)};
    if (box.bounded_below) batched.bounded_below = Repeated(*box.bounded_below, count);
    if (box.bounded_above) batched.bounded_above = Repeated(*box.bounded_above, count);
    return batched;
  }
  Space operator()(const Discrete& space) const {
    return MultiDiscrete{Filled(space.dtype, {count}, space.n), Filled(space.dtype, {count}, space.start)};
  }
  Space operator()(const MultiBinary& space) const {
    return Box{Repeated(Filled(DType::kInt8, space.shape, 0), count),
               Repeated(Filled(DType::kInt8, space.shape, 1), count)};
  }
  Space operator()(const MultiDiscrete& space) const {
    return Box{Repeated(space.start, count), Repeated(Last(space), count)};
  }
  Space operator()(const DictSpace& space) const {
    DictSpace batched;
    batched.sort_keys = space.sort_keys;
    for (const auto& [key, part] : space.entries) batched.entries.emplace_back(key, Shared(BatchSpace(*part, count)));
    return batched;
  }
  Space operator()(const TupleSpace& space) const {
    TupleSpace batched;
    for (const SpacePtr& part : space.spaces) batched.spaces.push_back(Shared(BatchSpace(*part, count)));
    return batched;
  }
  template <class Other>
  Space operator()(const Other& space) const {
    TupleSpace copies;  // not one space in many places: each is sampled on its own
    for (std::size_t i = 0; i < count; ++i) copies.spaces.push_back(Shared(space));
    return copies;
  }
};

using Samples = std::vector<const Value*>;

struct Batched {
  const Samples& samples;

  Value operator()(const Discrete& space) const {
    std::string bytes;
    for (const Value* each : samples) AppendElement(&bytes, space.dtype, each->AsInt());
    return NdArray(space.dtype, {samples.size()}, std::move(bytes));
  }
  Value operator()(const Box& space) const { return Stacked(space.low.dtype(), space.low.shape()); }
  Value operator()(const MultiBinary& space) const { return Stacked(DType::kInt8, space.shape); }
  Value operator()(const MultiDiscrete& space) const { return Stacked(space.nvec.dtype(), space.nvec.shape()); }
  Value operator()(const DictSpace& space) const {
    Dict batched;
    for (const auto& [key, part] : space.entries) {
      batched.Add(key, Batch(*part, Parts([name = &key](const Value& each) { return each.dict().FindKey(*name); })));
    }
    return batched;
  }
  Value operator()(const TupleSpace& space) const {
    Tuple batched;
    for (std::size_t i = 0; i < space.spaces.size(); ++i) {
      batched.values.push_back(Batch(*space.spaces[i], Parts([i](const Value& each) { return &each.tuple().at(i); })));
    }
    return batched;
  }
  template <class Other>
  Value operator()(const Other&) const {
    Tuple all;
    for (const Value* each : samples) all.values.push_back(*each);
    return all;
  }

 private:
  // The arrays one after the other; the type and the shape are the space's where there are none.
  Value Stacked(DType dtype, const std::vector<std::size_t>& shape) const {
    if (samples.empty()) return NdArray(dtype, WithAxis(0, shape), "");
    const NdArray& first = samples.front()->array();
    std::string bytes;
    bytes.reserve(first.byte_size() * samples.size());
    for (const Value* each : samples) bytes.append(each->array().bytes(), each->array().byte_size());
    return NdArray(first.dtype(), WithAxis(samples.size(), first.shape()), std::move(bytes));
  }
  template <class Part>
  Samples Parts(Part part) const {
    Samples parts;
    for (const Value* each : samples) {
      parts.push_back(part(*each));
      if (parts.back() == nullptr) throw Error("UNSUPPORTED", "an observation lacks a part of its space");
    }
    return parts;
  }
};

// The rows of an array along its first axis.
std::vector<Value> Rows(const Space& space, const NdArray& array, std::size_t count) {
  const std::vector<std::size_t> shape(array.shape().begin() + 1, array.shape().end());
  const std::size_t bytes = count == 0 ? 0 : array.byte_size() / count;
  std::vector<Value> rows;
  for (std::size_t i = 0; i < count; ++i) {
    NdArray row(array.dtype(), shape, std::string(array.bytes() + i * bytes, bytes));
    rows.push_back(space.If<Discrete>() != nullptr ? Value(Scalar{std::move(row)}) : Value(std::move(row)));
  }
  return rows;
}

std::vector<Value> UnbatchDict(const DictSpace& space, const Dict& batch, std::size_t count) {
  std::vector<Dict> members(count);
  for (const auto& [key, part] : space.entries) {
    const std::vector<Value> values = Unbatch(*part, *batch.FindKey(key), count);
    for (std::size_t i = 0; i < count; ++i) members[i].Add(key, values[i]);
  }
  return std::vector<Value>(members.begin(), members.end());
}

std::vector<Value> UnbatchTuple(const TupleSpace& space, const std::vector<Value>& batch, std::size_t count) {
  std::vector<Tuple> members(count);
  for (std::size_t part = 0; part < space.spaces.size(); ++part) {
    const std::vector<Value> values = Unbatch(*space.spaces[part], batch.at(part), count);
    for (std::size_t i = 0; i < count; ++i) members[i].values.push_back(values[i]);
  }
  return std::vector<Value>(members.begin(), members.end());
}

bool IsArrayLike(const Space& space) {
  return space.If<Box>() || space.If<Discrete>() || space.If<MultiBinary>() || space.If<MultiDiscrete>();
}

// The count that all parts have.
class CommonCount {
 public:
  void Take(const std::optional<std::size_t>& count) {
    differs_ = differs_ || !count || (count_ && *count_ != *count);
    count_ = count;
  }
  std::optional<std::size_t> get() const { return differs_ ? std::nullopt : std::optional(count_.value_or(0)); }

 private:
  std::optional<std::size_t> count_;
  bool differs_ = false;
};

std::optional<std::size_t> CountOfDict(const DictSpace& space, const Value& batch) {
  const auto* dict = batch.If<Dict>();
  if (dict == nullptr || dict->size() != space.entries.size()) return std::nullopt;
  CommonCount common;
  for (const auto& [key, part] : space.entries) {
    const Value* found = dict->FindKey(key);
    common.Take(found == nullptr ? std::nullopt : CountOf(*part, *found));
  }
  return common.get();
}

std::optional<std::size_t> CountOfTuple(const TupleSpace& space, const Value& batch) {
  const auto* parts = ElementsOf(batch);
  if (parts == nullptr || parts->size() != space.spaces.size()) return std::nullopt;
  CommonCount common;
  for (std::size_t i = 0; i < parts->size(); ++i) common.Take(CountOf(*space.spaces[i], (*parts)[i]));
  return common.get();
}

}  // namespace

const std::vector<Value>* ElementsOf(const Value& value) {
  if (const auto* list = value.If<List>()) return &list->values;
  if (const auto* tuple = value.If<Tuple>()) return &tuple->values;
  return nullptr;
}

Space BatchSpace(const Space& space, std::size_t count) { return std::visit(BatchedSpace{count}, space.kind()); }

Value Batch(const Space& space, const Samples& samples) { return std::visit(Batched{samples}, space.kind()); }

std::vector<Value> Unbatch(const Space& space, const Value& batch, std::size_t count) {
  if (const auto* array = batch.If<NdArray>()) return Rows(space, *array, count);
  if (const auto* dict = space.If<DictSpace>()) return UnbatchDict(*dict, batch.dict(), count);
  const std::vector<Value>& values = *ElementsOf(batch);
  if (const auto* tuple = space.If<TupleSpace>()) return UnbatchTuple(*tuple, values, count);
  return values;
}

std::optional<std::size_t> CountOf(const Space& space, const Value& batch) {
  if (const auto* dict = space.If<DictSpace>()) return CountOfDict(*dict, batch);
  if (const auto* tuple = space.If<TupleSpace>()) return CountOfTuple(*tuple, batch);
  if (IsArrayLike(space)) {
    const auto* array = batch.If<NdArray>();
    if (array == nullptr || array->shape().empty()) return std::nullopt;
    if (array->shape().front() > array->byte_size()) return std::nullopt;  // rows of nothing, as many as one likes
    return array->shape().front();
  }
  const auto* elements = ElementsOf(batch);
  if (elements == nullptr) return std::nullopt;
  return elements->size();
}

}  // namespace envwire::internal
