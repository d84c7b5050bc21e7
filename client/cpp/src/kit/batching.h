// Batches of samples, spaces and infos, as Gymnasium's vector environments have them.
#pragma once

#include <vector>

#include "envwire/space.hpp"

namespace envwire::internal {

// The space of `count` samples of a space together.
Space BatchSpace(const Space& space, std::size_t count);
// Puts samples of a space together; arrays and numbers become one array.
Value Batch(const Space& space, const std::vector<const Value*>& samples);
// The sample of each member. The batch is one of the batched space.
std::vector<Value> Unbatch(const Space& space, const Value& batch, std::size_t count);
// Puts infos together in columns: beside each key there is "_key", which says who has it.
Dict BatchInfos(const std::vector<Dict>& infos);

}  // namespace envwire::internal
