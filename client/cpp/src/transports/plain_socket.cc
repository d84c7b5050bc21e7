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

Error NotRead() { return Error("DEADLINE_EXCEEDED", "the peer did not read in time"); }

void PlainSocket::Broke(int error) const {
  throw ConnectionError("the connection to " + address_ + " broke: " + std::strerror(error), error == ECONNREFUSED,
                        true);
}

bool PlainSocket::HasRoomBy(int error, Clock::time_point deadline) const {
  if (!IsForLater(error)) Broke(error);
  return error == EINTR || IsReadyBy(fd(), POLLOUT, deadline);
}

std::string_view PlainSocket::WriteUntil(std::string_view bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (!HasRoomBy(errno, deadline)) {
      break;
    }
  }
  return bytes;
}

void PlainSocket::Write(const char* data, std::size_t size, Clock::time_point deadline) {
  if (!WriteUntil({data, size}, deadline).empty()) throw NotRead();
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
    while (!look()) WaitForMore(deadline);
  }
  spin_.Woke();
  return *count;
}

void PlainSocket::WaitForMore(Clock::time_point deadline) const { WaitFor(fd(), POLLIN, deadline); }

void PlainSocket::Shutdown() { shutdown(fd(), SHUT_RDWR); }
void PlainSocket::EndWriting() { shutdown(fd(), SHUT_WR); }

}  // namespace envwire::internal
