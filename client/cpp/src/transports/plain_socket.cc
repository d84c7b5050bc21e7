#include "transports/plain_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "errors.h"

namespace envwire::internal {
namespace {

bool IsForLater(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

void PlainSocket::Broke(int error) const {
  throw ConnectionError("the connection to " + address_ + " broke: " + std::strerror(error), error == ECONNREFUSED,
                        true);
}

void PlainSocket::AwaitRoom(int error, Clock::time_point deadline) const {
  if (!IsForLater(error)) Broke(error);
  if (error != EINTR) WaitFor(fd(), POLLOUT, deadline);
}

void PlainSocket::Write(const char* data, std::size_t size, Clock::time_point deadline) {
  while (size > 0) {
    const ssize_t sent = send(fd(), data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      data += sent;
      size -= static_cast<std::size_t>(sent);
    } else {
      AwaitRoom(errno, deadline);
    }
  }
}

ssize_t PlainSocket::Receive(char* data, std::size_t size) { return recv(fd(), data, size, MSG_DONTWAIT); }

std::optional<std::size_t> PlainSocket::TryRead(char* data, std::size_t size) {
  const ssize_t count = Receive(data, size);
  if (count > 0) return static_cast<std::size_t>(count);
  if (count == 0) throw ConnectionError("the peer closed the connection to " + address_, false, true);
  if (!IsForLater(errno)) Broke(errno);
  return std::nullopt;
}

std::size_t PlainSocket::Read(char* data, std::size_t size, Clock::time_point deadline) {
  std::optional<std::size_t> count;
  const auto look = [&] { return (count = TryRead(data, size)).has_value(); };
  if (!spin_.Try(look)) {
    while (!look()) WaitFor(fd(), POLLIN, deadline);
  }
  spin_.Woke();
  return *count;
}

void PlainSocket::Shutdown() { shutdown(fd(), SHUT_RDWR); }
void PlainSocket::EndWriting() { shutdown(fd(), SHUT_WR); }

}  // namespace envwire::internal
