// Infos of many environments in one, as Gymnasium's vector environments have them.
#pragma once

#include <vector>

#include "envwire/value.hpp"

namespace envwire::internal {

// Puts infos together in columns: beside each key there is "_key", which says who has it.
Dict BatchInfos(const std::vector<Dict>& infos);

}  // namespace envwire::internal
