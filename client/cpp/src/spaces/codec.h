// Spaces as messages of the contract, and back.
#pragma once

#include "envwire/space.hpp"
#include "envwire/v1/spaces.pb.h"

namespace envwire::internal {

void Encode(const Space& space, v1::Space* message);
// Throws Error: UNSUPPORTED for a kind that this version does not know, INVALID_VALUE for what is no space.
Space Decode(v1::Space* message);

}  // namespace envwire::internal
