// All that drives environments; envwire/kit.hpp serves them. The C header envwire.h needs nothing of this.
#pragma once

#include "envwire/env.hpp"
#include "envwire/error.hpp"
#include "envwire/ndarray.hpp"
#include "envwire/options.hpp"
#include "envwire/space.hpp"
#include "envwire/value.hpp"
