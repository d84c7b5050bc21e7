// Batches of spaces and of their samples, as Gymnasium has them in vector environments and stacked sequences.
#pragma once

#include <optional>
#include <vector>

#include "envwire/space.hpp"

namespace envwire::internal {

// The elements of a list or a tuple; nullptr for anything else.
const std::vector<Value>* ElementsOf(const Value& value);
// The space of `count` samples of a space together.
Space BatchSpace(const Space& space, std::size_t count);
// Puts samples of a space together; arrays and numbers become one array.
Value Batch(const Space& space, const std::vector<const Value*>& samples);
// The sample of each member. The batch holds `count`.
std::vector<Value> Unbatch(const Space& space, const Value& batch, std::size_t count);
// How many samples a batch of a space holds; nothing where it cannot be one.
std::optional<std::size_t> CountOf(const Space& space, const Value& batch);

}  // namespace envwire::internal
