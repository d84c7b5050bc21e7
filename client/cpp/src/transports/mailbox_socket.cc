#include "transports/mailbox_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "errors.h"
#include "transports/descriptors.h"
#include "transports/frames.h"

namespace envwire::internal {
namespace {

// While it spins a reader looks into its box so often, a microsecond, between two looks at the socket, after each of
// which it yields the processor. More of them delay large frames, and the peer where both share a processor; fewer
// delay small ones.
constexpr int kLooks = 32;
void Pause() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

}  // namespace

void MailboxSocket::WriteWith(const Descriptor& sent, const char* data, std::size_t size, Clock::time_point deadline) {
  ssize_t count = -1;
  while ((count = SendWith(fd(), data, size, sent)) < 0) {
    if (!HasRoomBy(errno, deadline)) throw NotRead();
  }
  if (!PlainSocket::WriteUntil({data + count, size - static_cast<std::size_t>(count)}, deadline).empty())
    throw NotRead();
}

ssize_t MailboxSocket::Receive(char* data, std::size_t size) {
  if (!takes_descriptors_) return PlainSocket::Receive(data, size);
  std::vector<Descriptor> came;
  const ssize_t count = ReceiveWith(fd(), data, size, &came);
  if (!came.empty()) received_.emplace(std::move(came.back()));  // that of a mailbox is behind the others
  return count;
}

Descriptor MailboxSocket::TakeDescriptor() {
  takes_descriptors_ = false;
  Descriptor taken = received_ ? std::move(*received_) : Descriptor(-1);
  received_.reset();
  return taken;
}

bool MailboxSocket::UseMailbox(const Descriptor& memory, std::size_t box_bytes) {
  mailbox_ = Mailbox::Map(memory, box_bytes);
  if (!mailbox_) return false;
  const bool is_client = end_ == End::kClient;
  in_ = is_client ? &mailbox_->answers : &mailbox_->requests;
  out_ = is_client ? &mailbox_->requests : &mailbox_->answers;
  return true;
}

void MailboxSocket::ResumeMailbox(std::uint8_t taken, std::uint8_t put) {
  in_->Resume(taken);
  out_->Resume(put);
}

std::pair<std::uint8_t, std::uint8_t> MailboxSocket::LeaveMailbox() {
  if (in_ == nullptr) return {};
  in_->SetSleeping(true);
  return {in_->count(), out_->count()};
}

std::string_view MailboxSocket::WriteUntil(std::string_view bytes, Clock::time_point deadline) {
  static constexpr std::array<char, kFrameHeaderBytes> kWake{};
  if (out_ == nullptr || !out_->Takes(bytes.size()) || shut_) return PlainSocket::WriteUntil(bytes, deadline);
  if (!out_->Put(bytes.data(), bytes.size())) return {};
  return PlainSocket::WriteUntil({kWake.data(), kWake.size()}, deadline);
}

bool MailboxSocket::TakeFrame(char* data, std::size_t size, std::size_t* count) {
  if (in_ == nullptr || !in_->has_frame() || shut_) return false;
  *count = in_->Take(data, size);
  return true;
}

bool MailboxSocket::TakeBytes(char* data, std::size_t size, std::size_t* count) {
  try {
    const std::optional<std::size_t> read = TryRead(data, size);
    *count = read.value_or(0);
    return read.has_value();
  } catch (const ConnectionError&) {
    // What the peer put into the box before it closed the connection was sent.
    if (!TakeFrame(data, size, count)) throw;
    return true;
  }
}

void MailboxSocket::WaitForMore(Clock::time_point deadline) const {
  if (interrupt_ < 0) return PlainSocket::WaitForMore(deadline);
  std::array<pollfd, 2> polled = {{{interrupt_, POLLIN, 0}, {fd(), POLLIN, 0}}};
  while (poll(polled.data(), polled.size(), -1) < 0 && errno == EINTR) {
  }
  if (polled[0].revents != 0) throw Interrupted();
}

std::size_t MailboxSocket::ReadFirst(char* data, std::size_t size, Clock::time_point deadline) {
  if (in_ == nullptr && interrupt_ < 0) return Read(data, size, deadline);
  std::size_t count = 0;
  const auto look = [&] {
    for (int looks = 0; in_ != nullptr && looks < kLooks; ++looks) {
      if (TakeFrame(data, size, &count)) return true;
      Pause();
    }
    return TakeBytes(data, size, &count);
  };
  if (!spin_.Try(look)) {
    if (in_ != nullptr) in_->SetSleeping(true);
    while (!TakeFrame(data, size, &count) && !TakeBytes(data, size, &count)) WaitForMore(deadline);
  }
  spin_.Woke();
  if (in_ != nullptr) in_->SetSleeping(!spin_.will_look());
  return count;
}

void MailboxSocket::Shutdown() {
  shut_ = true;
  PlainSocket::Shutdown();
}

}  // namespace envwire::internal
