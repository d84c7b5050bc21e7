// Infos of many environments in one, as Gymnasium's vector environments have them.
#pragma once

#include <vector>

#include "envwire/value.hpp"

namespace envwire::internal {

// Merges infos into columns. For each key there is also "_key", a mask of the members that have it.
Dict BatchInfos(const std::vector<Dict>& infos);

}  // namespace envwire::internal
