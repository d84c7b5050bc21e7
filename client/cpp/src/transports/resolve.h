// The addresses of a host, within a deadline.
#pragma once

#include <netdb.h>

#include <memory>
#include <string>

#include "session/retry_schedule.h"

namespace envwire::internal {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// Resolves a host, and a port that is a number. Throws ConnectionError, or Error (DEADLINE_EXCEEDED): the system's
// resolver has no deadline of its own.
Addresses Resolve(const std::string& host, const std::string& port, Clock::time_point deadline);

}  // namespace envwire::internal
