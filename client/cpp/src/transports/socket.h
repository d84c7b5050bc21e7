// Bytes over a socket with deadlines: TCP, TLS, or an abstract Unix socket.
#pragma once

#include <memory>
#include <string>

#include "envwire/options.hpp"
#include "session/retry_schedule.h"

namespace envwire::internal {

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
};

// Connects to "HOST:PORT" or "unix-abstract:NAME"; the latter never speaks TLS.
std::unique_ptr<Socket> Connect(const std::string& address, const std::optional<Tls>& tls, Clock::time_point deadline);

struct HostPort {
  std::string host;
  std::string port;
};

// Splits "HOST:PORT" and "[HOST]:PORT".
HostPort SplitAddress(const std::string& address);

}  // namespace envwire::internal
