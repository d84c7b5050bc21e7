// Bytes over a socket with deadlines: TCP, TLS, or an abstract Unix socket.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <memory>
#include <string>
#include <utility>

#include "envwire/options.hpp"
#include "session/retry_schedule.h"

namespace envwire::internal {

class Box;

// One connection. A failure closes it: throws ConnectionError, or Error (DEADLINE_EXCEEDED).
class Socket {
 public:
  Socket() = default;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  virtual ~Socket() = default;

  virtual void Write(const char* data, std::size_t size, Clock::time_point deadline) = 0;
  // Reads at least one byte, at most `size`.
  virtual std::size_t Read(char* data, std::size_t size, Clock::time_point deadline) = 0;
  // Reads where a frame begins, into almost 64 KiB or more: beside a mailbox, a whole frame may come out of it.
  virtual std::size_t ReadFirst(char* data, std::size_t size, Clock::time_point deadline) {
    return Read(data, size, deadline);
  }
  // The box in which frames come as well as on the socket; null for none.
  virtual const Box* inbox() const { return nullptr; }
  // Ends what another thread waits for here. The peer gets what was written before.
  virtual void Shutdown() = 0;
  // Sends no more, which the peer reads as the end; what it sends can still be read.
  virtual void EndWriting() = 0;
};

// A descriptor that is closed unless it was released.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : fd_(other.Release()) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// What the name of an abstract Unix socket follows in an address.
inline constexpr char kUnix[] = "unix-abstract:";

bool IsUnix(const std::string& address);

// Whether a host is this machine.
bool IsHere(const std::string& host);

// The address of an abstract Unix socket. Throws ConnectionError for a name that is too long.
struct UnixAddress {
  explicit UnixAddress(const std::string& name);
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

  sockaddr_un address{};
  socklen_t length = 0;
};

// Connects to "HOST:PORT" or "unix-abstract:NAME"; the latter never speaks TLS.
std::unique_ptr<Socket> Connect(const std::string& address, const std::optional<Tls>& tls, Clock::time_point deadline);

// Takes over a connected descriptor; `peer` is its name in errors.
std::unique_ptr<Socket> Adopt(Descriptor fd, const std::string& peer);

// Options of every TCP connection: no delays, and a kernel that asks after silent peers.
void SetTcpOptions(int fd);

// Waits until a descriptor can be read or written (POLLIN, POLLOUT); returns false at the deadline.
bool IsReadyBy(int fd, short events, Clock::time_point deadline);
// The same, but throws Error (DEADLINE_EXCEEDED) at the deadline.
void WaitFor(int fd, short events, Clock::time_point deadline);

struct HostPort {
  std::string host;
  std::string port;
};

// Splits "HOST:PORT" and "[HOST]:PORT".
HostPort SplitAddress(const std::string& address);

}  // namespace envwire::internal
