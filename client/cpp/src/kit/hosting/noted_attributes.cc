#include "kit/hosting/noted_attributes.h"

#include <algorithm>
#include <cctype>

#include "envwire/error.hpp"

namespace envwire::internal {
namespace {

constexpr std::size_t kMost = 1000;
constexpr std::size_t kMostBytes = std::size_t{64} << 20U;

// An identifier without two leading underscores.
bool IsName(const std::string& text) {
  const auto fits = [](unsigned char each) { return std::isalnum(each) != 0 || each == '_'; };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 && text.rfind("__", 0) != 0 &&
         std::all_of(text.begin(), text.end(), fits);
}

}  // namespace

const Value* NotedAttributes::Find(const std::string& name) const {
  const auto found = noted_.find(name);
  return found == noted_.end() ? nullptr : &found->second.value;
}

void NotedAttributes::Set(const std::string& name, Value value) {
  if (!IsName(name)) throw Error("ATTRIBUTE_NOT_ALLOWED", "an attribute's name is an identifier");
  const auto found = noted_.find(name);
  const std::size_t before = found == noted_.end() ? 0 : found->second.bytes;
  const std::size_t bytes = name.size() + EncodeValue(value).size();
  if ((before == 0 && noted_.size() == kMost) || bytes_ - before + bytes > kMostBytes) {
    throw Error("CAPACITY_REACHED", "a session keeps at most 1,000 forced attributes of 64 MiB together");
  }
  bytes_ += bytes - before;
  noted_[name] = {std::move(value), bytes};
}

}  // namespace envwire::internal
