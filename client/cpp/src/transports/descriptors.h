// Descriptors that come beside the bytes of a Unix socket.
#pragma once

#include <sys/types.h>

#include <vector>

#include "transports/socket.h"

namespace envwire::internal {

// Calls recvmsg without waiting; appends the descriptors that come with the bytes.
ssize_t ReceiveWith(int fd, char* data, std::size_t size, std::vector<Descriptor>* descriptors);

// Sends bytes of which the first comes with a descriptor, without waiting.
ssize_t SendWith(int fd, const char* data, std::size_t size, const Descriptor& descriptor);

}  // namespace envwire::internal
