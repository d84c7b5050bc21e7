// Conformance/EverySpace-v0: one space of each kind.
#pragma once

#include "envwire/kit.hpp"

namespace envwire::internal {

std::unique_ptr<Environment> MakeEverySpace(const MakeContext& context);

}  // namespace envwire::internal
