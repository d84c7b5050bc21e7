// Values and spaces as texts for error messages, as Python shows them.
#pragma once

#include <string>

#include "envwire/space.hpp"

namespace envwire::internal {

// The beginning of a text: "array([0.5, 1], dtype=float32)". Long arrays are cut.
std::string Shown(const Value& value);
// The same of a space: "Box(-1, 1, (2,), float32)".
std::string Shown(const Space& space);

}  // namespace envwire::internal
