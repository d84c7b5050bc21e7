// HOST:PORT, at which a server is dialled.
#pragma once

#include <string>

namespace envwire::internal {

// Whether a text is HOST:PORT and nothing else that gRPC or a resolver would take. Clients dial what servers name, and
// "unix:1" is a socket in the file system, "10.1:1" is 10.0.0.1, and "one:1,two:1" are two.
bool IsHostPort(const std::string& text);

}  // namespace envwire::internal
