// TLS on a connected socket, by OpenSSL.
#pragma once

#include <memory>
#include <string>

#include "transports/socket.h"

namespace envwire::internal {

// Takes over `fd` and verifies the server's certificate for `host`, or for `tls.server_name`.
std::unique_ptr<Socket> ConnectTls(int fd, const Tls& tls, const std::string& host, Clock::time_point deadline);

// Waits until a descriptor can be read or written (POLLIN, POLLOUT). Throws Error (DEADLINE_EXCEEDED).
void WaitFor(int fd, short events, Clock::time_point deadline);

}  // namespace envwire::internal
