// The errors that a server answers with.
#pragma once

#include <exception>

#include "envwire/v1/status.pb.h"

namespace envwire::internal {

// The status of whatever was thrown while a request was served: an Error has its reason's, any other exception is what
// the environment raised.
v1::ErrorStatus StatusOf(const std::exception& thrown);

}  // namespace envwire::internal
