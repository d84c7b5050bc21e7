// The errors that a server answers with.
#pragma once

#include <exception>

#include "session/client_session.h"

namespace envwire::internal {

// The status of whatever was thrown while a request was served: an Error has its reason's, any other exception is what
// the environment raised while it served a request of this kind.
v1::ErrorStatus StatusOf(const std::exception& thrown, Kind kind = Kind::REQUEST_NOT_SET);

}  // namespace envwire::internal
