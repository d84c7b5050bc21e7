// A Unix socket beside which small frames go through a mailbox.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "transports/mailbox.h"
#include "transports/plain_socket.h"

namespace envwire::internal {

// A descriptor that is watched beside the socket became readable.
class Interrupted : public std::exception {};

// Until it is given the memory of a mailbox it is a plain socket. From then on each write is one whole frame without
// attachments, which goes into the box where that may be, and ReadFirst looks into the other one as well as at the
// socket.
class MailboxSocket : public PlainSocket {
 public:
  enum class End { kClient, kServer };

  // A client's end also takes in descriptors, up to TakeDescriptor.
  MailboxSocket(Descriptor fd, std::string address, End end)
      : PlainSocket(std::move(fd), std::move(address)), end_(end), takes_descriptors_(end == End::kClient) {}

  // Writes bytes of which the first comes with a descriptor.
  void WriteWith(const Descriptor& sent, const char* data, std::size_t size, Clock::time_point deadline);
  // Returns the last descriptor that came, -1 for none; no more are taken in.
  Descriptor TakeDescriptor();
  // Uses the memory of a mailbox; returns false where that cannot be, and stays as it was.
  bool UseMailbox(const Descriptor& memory, std::size_t box_bytes);
  // Goes on with a mailbox that another process used: the numbers of the frames last taken from it and put into it.
  void ResumeMailbox(std::uint8_t taken, std::uint8_t put);
  // Leaves the mailbox to another process, and returns these numbers; zeros without one.
  std::pair<std::uint8_t, std::uint8_t> LeaveMailbox();

  // Has reads throw Interrupted instead of waiting while a descriptor is readable.
  void set_interrupt(int fd) { interrupt_ = fd; }

  std::string_view WriteUntil(std::string_view bytes, Clock::time_point deadline) override;
  std::size_t ReadFirst(char* data, std::size_t size, Clock::time_point deadline) override;
  const Box* inbox() const override { return in_; }
  void Shutdown() override;

 protected:
  ssize_t Receive(char* data, std::size_t size) override;
  void WaitForMore(Clock::time_point deadline) const override;

 private:
  bool TakeFrame(char* data, std::size_t size, std::size_t* count);
  bool TakeBytes(char* data, std::size_t size, std::size_t* count);

  const End end_;
  bool takes_descriptors_;
  int interrupt_ = -1;
  std::optional<Descriptor> received_;
  std::unique_ptr<Mailbox> mailbox_;
  Box* in_ = nullptr;
  Box* out_ = nullptr;
  Spin spin_;
  std::atomic<bool> shut_{false};
};

}  // namespace envwire::internal
