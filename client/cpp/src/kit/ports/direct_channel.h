// One connection of the direct channel, on the server's side.
#pragma once

#include <functional>
#include <memory>

#include "kit/ports/lent_connections.h"
#include "kit/service.h"
#include "transports/socket.h"

namespace envwire::internal {

// Serves a connection until it ends: a preamble, a hello, and then requests, each answered before the next is read.
// `heard` is called when the hello is over. On the channel to a server that runs this program, which may lend it
// connections, `lent` serves these. Throws when the connection breaks.
void ServeChannel(Service& service, const std::shared_ptr<Socket>& socket, Clock::time_point hello_deadline,
                  const ServeOptions& options, const std::function<void()>& heard, LentConnections* lent = nullptr);

}  // namespace envwire::internal
