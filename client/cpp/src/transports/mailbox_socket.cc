#include "transports/mailbox_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "errors.h"
#include "transports/frames.h"

namespace envwire::internal {
namespace {

// While it spins a reader looks into its box so often, a microsecond, between two looks at the socket, after each of
// which it yields the processor. More of them delay large frames, and the peer where both share a processor; fewer
// delay small ones.
constexpr int kLooks = 32;
constexpr std::size_t kMostDescriptors = 8;  // in one piece; the system closes those beyond

// Memory for the descriptors that come with bytes, aligned as the system wants it.
union Control {
  cmsghdr aligned;
  std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> bytes;
};

void Pause() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

}  // namespace

void MailboxSocket::WriteWith(const Descriptor& sent, const char* data, std::size_t size, Clock::time_point deadline) {
  Control control{};
  iovec bytes{const_cast<char*>(data), size};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = CMSG_SPACE(sizeof(int));
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  PutNumber(sent.get(), reinterpret_cast<char*>(CMSG_DATA(header)));
  ssize_t count = -1;
  while ((count = sendmsg(fd(), &message, MSG_NOSIGNAL | MSG_DONTWAIT)) < 0) AwaitRoom(errno, deadline);
  PlainSocket::Write(data + count, size - static_cast<std::size_t>(count), deadline);
}

ssize_t MailboxSocket::Receive(char* data, std::size_t size) {
  if (!takes_descriptors_) return PlainSocket::Receive(data, size);
  Control control;
  iovec bytes{data, size};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  const ssize_t count = recvmsg(fd(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (count >= 0) Keep(message);
  return count;
}

// Keeps the last of the descriptors that came: that of a mailbox is behind the others.
void MailboxSocket::Keep(const msghdr& message) {
  auto* all = const_cast<msghdr*>(&message);
  for (cmsghdr* header = CMSG_FIRSTHDR(all); header != nullptr; header = CMSG_NXTHDR(all, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t bytes = header->cmsg_len - CMSG_LEN(0);
    for (std::size_t at = 0; at < bytes; at += sizeof(int)) {
      received_.emplace(GetNumber<int>(reinterpret_cast<const char*>(CMSG_DATA(header)) + at));
    }
  }
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

void MailboxSocket::Write(const char* data, std::size_t size, Clock::time_point deadline) {
  if (out_ == nullptr || !out_->Takes(size) || shut_) {
    PlainSocket::Write(data, size, deadline);
  } else if (out_->Put(data, size)) {
    constexpr std::array<char, kFrameHeaderBytes> kWake{};
    PlainSocket::Write(kWake.data(), kWake.size(), deadline);
  }
}

bool MailboxSocket::TakeFrame(char* data, std::size_t size, std::size_t* count) {
  if (!in_->has_frame() || shut_) return false;
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

std::size_t MailboxSocket::ReadFirst(char* data, std::size_t size, Clock::time_point deadline) {
  if (in_ == nullptr) return Read(data, size, deadline);
  std::size_t count = 0;
  const auto look = [&] {
    for (int looks = 0; looks < kLooks; ++looks) {
      if (TakeFrame(data, size, &count)) return true;
      Pause();
    }
    return TakeBytes(data, size, &count);
  };
  if (!spin_.Try(look)) {
    in_->SetSleeping(true);
    while (!TakeFrame(data, size, &count) && !TakeBytes(data, size, &count)) WaitFor(fd(), POLLIN, deadline);
  }
  spin_.Woke();
  in_->SetSleeping(!spin_.will_look());
  return count;
}

void MailboxSocket::Shutdown() {
  shut_ = true;
  PlainSocket::Shutdown();
}

}  // namespace envwire::internal
