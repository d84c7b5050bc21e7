#include "transports/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "errors.h"
#include "transports/mailbox_socket.h"
#include "transports/plain_socket.h"
#include "transports/resolve.h"
#include "transports/tls_socket.h"

namespace envwire::internal {
namespace {

[[noreturn]] void Broke(const std::string& what, int error, bool connected) {
  throw ConnectionError(what + ": " + std::strerror(error), error == ECONNREFUSED, connected);
}

// Connects one socket; returns errno, 0 for success.
int ConnectOne(int fd, const sockaddr* address, socklen_t length, Clock::time_point deadline) {
  if (connect(fd, address, length) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  WaitFor(fd, POLLOUT, deadline);
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

Descriptor ConnectUnix(const std::string& name, Clock::time_point deadline) {
  const UnixAddress address(name);
  Descriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int error = ConnectOne(fd.get(), address.get(), address.length, deadline);
  if (error != 0) Broke("cannot connect to the Unix socket " + name, error, false);
  return fd;
}

Descriptor ConnectTcp(const std::string& target, Clock::time_point deadline) {
  const auto [host, port] = SplitAddress(target);
  const Addresses addresses = Resolve(host, port, deadline);
  int error = ECONNREFUSED;
  for (const addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) {
    Descriptor fd(socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    error = ConnectOne(fd.get(), each->ai_addr, each->ai_addrlen, deadline);
    if (error == 0) {
      SetTcpOptions(fd.get());
      return fd;
    }
  }
  Broke("cannot connect to " + target, error, false);
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

UnixAddress::UnixAddress(const std::string& name)
    : length(static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())) {
  if (length > sizeof(address)) throw ConnectionError("the socket's name is too long", true, false);
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
}

bool IsUnix(const std::string& address) { return address.rfind(kUnix, 0) == 0; }

bool IsHere(const std::string& host) {
  in_addr address{};  // "127.example" is a name
  const bool is_ip = inet_pton(AF_INET, host.c_str(), &address) == 1;
  return host == "localhost" || host == "::1" || (is_ip && host.rfind("127.", 0) == 0);
}

void SetTcpOptions(int fd) {
  const int on = 1;
  const int idle = 15;  // seconds of silence after which the kernel asks whether the peer is there
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
#ifdef TCP_KEEPIDLE
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle, sizeof(idle));
#endif
}

std::unique_ptr<Socket> Adopt(Descriptor fd, const std::string& peer) {
  return std::make_unique<PlainSocket>(std::move(fd), peer);
}

bool IsReadyBy(int fd, short events, Clock::time_point deadline) {
  pollfd polled{fd, events, 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    const int ready = poll(&polled, 1, static_cast<int>(std::min<decltype(left)>(left, 3'600'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) Broke("cannot wait for the connection", errno, true);
  }
}

void WaitFor(int fd, short events, Clock::time_point deadline) {
  if (!IsReadyBy(fd, events, deadline)) throw Error("DEADLINE_EXCEEDED", "no answer came in time");
}

HostPort SplitAddress(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) {
    throw Error("INVALID_ARGUMENT", "the target \"" + address + "\" has no port: write HOST:PORT");
  }
  std::string host = address.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return {host, address.substr(colon + 1)};
}

std::unique_ptr<Socket> Connect(const std::string& address, const std::optional<Tls>& tls, Clock::time_point deadline) {
  if (IsUnix(address)) {
    Descriptor fd = ConnectUnix(address.substr(sizeof(kUnix) - 1), deadline);
    return std::make_unique<MailboxSocket>(std::move(fd), address, MailboxSocket::End::kClient);
  }
  Descriptor fd = ConnectTcp(address, deadline);
  if (!tls) return Adopt(std::move(fd), address);
  return ConnectTls(std::move(fd), *tls, SplitAddress(address).host, deadline);
}

}  // namespace envwire::internal
