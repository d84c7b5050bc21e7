// The whole client library. envwire/kit.hpp serves environments. The C header envwire.h is independent of both.
#pragma once

#include "envwire/env.hpp"
#include "envwire/error.hpp"
#include "envwire/ndarray.hpp"
#include "envwire/options.hpp"
#include "envwire/space.hpp"
#include "envwire/value.hpp"
