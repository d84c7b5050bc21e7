// All of the library. The C header for the direct channel alone is envwire.h, which needs nothing of this.
#pragma once

#include "envwire/env.hpp"
#include "envwire/error.hpp"
#include "envwire/ndarray.hpp"
#include "envwire/options.hpp"
#include "envwire/space.hpp"
#include "envwire/value.hpp"
