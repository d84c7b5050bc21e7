// The environments that `envwire conformance` drives (docs/conformance.md).
#pragma once

#include "envwire/kit.hpp"

namespace envwire {

// Conformance/Counter-v0 and so on. Nothing serves them unless its author adds them to a registry: they are no
// environments for a public address.
Registry ConformanceEnvironments();

}  // namespace envwire
