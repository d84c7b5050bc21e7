// The environments that `envwire conformance` drives (docs/conformance.md).
#pragma once

#include "envwire/kit.hpp"

namespace envwire {

// Conformance/Counter-v0 and so on. They are served only if they are added to a registry, since they are not
// intended for a public address.
Registry ConformanceEnvironments();

}  // namespace envwire
