// A socket without TLS: TCP, or the base of a Unix socket.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "errors.h"
#include "transports/socket.h"
#include "transports/spin.h"

namespace envwire::internal {

// What is thrown when the peer did not take all bytes by the deadline.
Error NotRead();

class PlainSocket : public Socket {
 public:
  // Takes over a connected descriptor; `address` is the peer's name in errors.
  PlainSocket(Descriptor fd, std::string address) : fd_(std::move(fd)), address_(std::move(address)) {}

  void Write(const char* data, std::size_t size, Clock::time_point deadline) final;
  // Writes for as long as the peer takes it, at most up to the deadline; returns the bytes that are still to be sent.
  virtual std::string_view WriteUntil(std::string_view bytes, Clock::time_point deadline);
  std::size_t Read(char* data, std::size_t size, Clock::time_point deadline) override;
  void Shutdown() override;
  void EndWriting() override;

 protected:
  int fd() const { return fd_.get(); }
  // Reads what has come, at most `size` bytes; absent where nothing has. Throws ConnectionError at the end.
  std::optional<std::size_t> TryRead(char* data, std::size_t size);
  // Calls recv, or what does the same, without waiting.
  virtual ssize_t Receive(char* data, std::size_t size);
  // Waits for bytes to read.
  virtual void WaitForMore(Clock::time_point deadline) const;
  // Waits until the descriptor can be written, where `error` (an errno) says that it cannot be now; else throws.
  // Returns false at the deadline.
  bool HasRoomBy(int error, Clock::time_point deadline) const;

 private:
  [[noreturn]] void Broke(int error) const;

  Descriptor fd_;
  std::string address_;
  Spin spin_;
};

}  // namespace envwire::internal
