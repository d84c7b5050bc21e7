// Sockets that listen.
#pragma once

#include <string>

#include "transports/socket.h"

namespace envwire::internal {

// Throw Error (UNAVAILABLE) if the address cannot be bound. A port of 0 is any free one.
Descriptor ListenTcp(const std::string& host, int port);
Descriptor ListenAbstract(const std::string& name);

int PortOf(int listener);

}  // namespace envwire::internal
