#include "values/checks.h"

#include <algorithm>
#include <regex>
#include <set>

#include "values/elements.h"

namespace envwire::internal {
namespace {

[[noreturn]] void Refuse(const char* why) { throw Error("INVALID_VALUE", why); }

// The parts of a value that holds others.
std::vector<const Value*> PartsOf(const Value& value) {
  std::vector<const Value*> parts;
  const auto add = [&](const std::vector<Value>& values) {
    for (const Value& each : values) parts.push_back(&each);
  };
  if (const auto* list = value.If<List>()) add(list->values);
  if (const auto* tuple = value.If<Tuple>()) add(tuple->values);
  if (const auto* set = value.If<Set>()) add(set->values);
  if (const auto* array = value.If<ObjectArray>()) add(array->values);
  if (const auto* graph = value.If<Graph>()) {
    add(graph->nodes);
    add(graph->edges);
    add(graph->edge_links);
  }
  if (const auto* dict = value.If<Dict>()) {
    for (const auto& entry : dict->entries()) parts.push_back(&entry.second);
  }
  return parts;
}

bool IsHashable(const Value& value) {
  if (value.Is<List>() || value.Is<Dict>() || value.Is<Set>() || value.Is<NdArray>() || value.Is<ObjectArray>()) {
    return false;
  }
  const std::vector<const Value*> parts = PartsOf(value);
  return std::all_of(parts.begin(), parts.end(), [](const Value* part) { return IsHashable(*part); });
}

void CheckKeys(const Dict& dict) {
  std::set<std::string> seen;
  for (const auto& entry : dict.entries()) {
    if (!IsHashable(entry.first)) Refuse("a key of a dictionary is not hashable");
    if (!seen.insert(EncodeValue(entry.first)).second) Refuse("a dictionary has a key twice");
  }
}

void CheckMember(const EnumMember& value) {
  static const std::set<std::string> kModes = {"NEXT_STEP", "SAME_STEP", "DISABLED"};
  if (value.enumeration != "AutoresetMode" || kModes.count(value.member) == 0) Refuse("an enumeration is not known");
}

// NumPy's types of a fixed width: "<U2", "|S3", "<M8[ns]". Every part has a bound: std::regex recurses for each
// character.
void CheckNumpy(const NdArray& array) {
  static const std::regex kType("[<>|=]?([SUVMm])([1-9][0-9]{0,8})(\\[[0-9]{0,9}[A-Za-z]{1,9}\\])?");
  std::smatch match;
  if (!std::regex_match(array.numpy_type(), match, kType)) Refuse("an array is of no known type");
  const std::size_t width = std::stoul(match[2]) * (match[1] == "U" ? 4 : 1);
  if (array.byte_size() != SizeOf(array.shape(), width)) Refuse("an array's elements do not fill its shape");
}

void CheckArray(const NdArray& array) {
  if (array.dtype() == DType::kNumpy) CheckNumpy(array);
}

void CheckObjects(const ObjectArray& array) {
  if (SizeOf(array.shape) != array.values.size()) Refuse("an array's elements do not fill its shape");
}

void CheckScalar(const NdArray& number) {
  CheckArray(number);
  if (!number.shape().empty()) Refuse("a scalar has no axes");
}

void CheckSent(const Value& value) {
  if (const auto* array = value.If<NdArray>()) CheckArray(*array);
  if (const auto* scalar = value.If<Scalar>()) CheckScalar(scalar->number);
  if (const auto* objects = value.If<ObjectArray>()) CheckObjects(*objects);
  if (value.Is<Opaque>()) Refuse("an object without a wire form cannot be sent");
  if (const auto* member = value.If<EnumMember>()) CheckMember(*member);
  if (const auto* dict = value.If<Dict>()) CheckKeys(*dict);
  for (const Value* part : PartsOf(value)) {
    if (value.Is<Set>() && !IsHashable(*part)) Refuse("a member of a set is not hashable");
    CheckSent(*part);
  }
}

}  // namespace

bool HoldsOpaque(const Value& value) {
  const std::vector<const Value*> parts = PartsOf(value);
  return value.Is<Opaque>() ||
         std::any_of(parts.begin(), parts.end(), [](const Value* part) { return HoldsOpaque(*part); });
}

Value DecodeSent(v1::Value* message) {
  Value value = Decode(message, {});
  CheckSent(value);
  return value;
}

Dict DecodeSent(v1::ValueMap* message) {
  const Value value(Decode(message, {}));
  CheckSent(value);
  return value.dict();
}

}  // namespace envwire::internal
