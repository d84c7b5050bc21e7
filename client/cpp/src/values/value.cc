#include "envwire/value.hpp"

#include <algorithm>
#include <stdexcept>

#include "envwire/error.hpp"
#include "values/codec.h"
#include "values/elements.h"

namespace envwire {
namespace {

// `of_array` reads an element as a number of this type.
template <class To>
To NumberOf(const Value& value, To (NdArray::*of_array)(std::size_t) const) {
  if (const auto* number = value.If<double>()) return internal::Converted<To>(*number);
  if (const auto* number = value.If<std::int64_t>()) return static_cast<To>(*number);
  if (const auto* number = value.If<bool>()) return static_cast<To>(*number);
  const auto* scalar = value.If<Scalar>();
  const auto* array = scalar != nullptr ? &scalar->number : value.If<NdArray>();
  if (array != nullptr && array->size() == 1) return (array->*of_array)(0);
  throw std::invalid_argument("the value is no number");
}

}  // namespace

const Value* Dict::Find(std::string_view key) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [key](const Entry& entry) {
    const auto* name = entry.first.If<std::string>();
    return name != nullptr && *name == key;
  });
  return found == entries_.end() ? nullptr : &found->second;
}

const Value* Dict::FindKey(const Value& key) const {
  if (const auto* name = key.If<std::string>()) return Find(*name);
  const std::string bytes = EncodeValue(key);
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return EncodeValue(entry.first) == bytes; });
  return found == entries_.end() ? nullptr : &found->second;
}

const Value& Dict::at(std::string_view key) const {
  if (const Value* found = Find(key)) return *found;
  throw std::out_of_range("the dictionary has no \"" + std::string(key) + "\"");
}

void Dict::Add(Value key, Value value) { entries_.emplace_back(std::move(key), std::move(value)); }

Dict::Dict(std::initializer_list<std::pair<std::string, Value>> entries) {
  for (const auto& [key, value] : entries) Add(key, value);
}

double Value::AsDouble() const { return NumberOf(*this, &NdArray::Number); }
std::int64_t Value::AsInt() const { return NumberOf(*this, &NdArray::Integer); }

std::string EncodeValue(const Value& value) {
  v1::Value message;
  internal::Encode(value, &message);
  return message.SerializeAsString();
}

Value DecodeValue(std::string_view bytes) {
  v1::Value message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw Error("INVALID_VALUE", "the bytes are no value");
  }
  return internal::Decode(&message, {});
}

}  // namespace envwire
