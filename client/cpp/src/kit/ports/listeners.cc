#include "kit/ports/listeners.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "envwire/error.hpp"

namespace envwire::internal {
namespace {

// Backlog: beyond this number of connections that are not accepted yet, connecting to a Unix socket fails.
constexpr int kWaiting = 512;

Descriptor Listen(Descriptor fd, const sockaddr* address, socklen_t length, const std::string& what) {
  if (bind(fd.get(), address, length) != 0 || listen(fd.get(), kWaiting) != 0) {
    throw Error("UNAVAILABLE", "cannot listen on " + what + ": " + std::strerror(errno));
  }
  return fd;
}

Descriptor NewSocket(int family) { return Descriptor(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

}  // namespace

Descriptor ListenTcp(const std::string& host, int port) {
  const std::string what = host + ":" + std::to_string(port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); error != 0) {
    throw Error("UNAVAILABLE", "cannot listen on " + what + ": " + gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  Descriptor fd = NewSocket(found->ai_family);
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  return Listen(std::move(fd), found->ai_addr, found->ai_addrlen, what);
}

Descriptor ListenAbstract(const std::string& name) {
  const UnixAddress address(name);
  return Listen(NewSocket(AF_UNIX), address.get(), address.length, kUnix + name);
}

int PortOf(int listener) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

}  // namespace envwire::internal
