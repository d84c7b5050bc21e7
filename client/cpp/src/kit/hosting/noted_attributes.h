// Attributes that an environment itself does not have: its render mode, and attributes that clients forced.
#pragma once

#include <map>
#include <string>

#include "envwire/value.hpp"

namespace envwire::internal {

class NotedAttributes {
 public:
  // The value, or nullptr.
  const Value* Find(const std::string& name) const;
  // Throws Error: ATTRIBUTE_NOT_ALLOWED for what is no name, CAPACITY_REACHED where there are too many, or too much.
  void Set(const std::string& name, Value value);

 private:
  struct Noted {
    Value value;
    std::size_t bytes;
  };
  std::map<std::string, Noted> noted_;
  std::size_t bytes_ = 0;
};

}  // namespace envwire::internal
