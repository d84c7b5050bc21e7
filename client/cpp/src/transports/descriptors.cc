#include "transports/descriptors.h"

#include <sys/socket.h>

#include <array>

#include "transports/frames.h"

namespace envwire::internal {
namespace {

constexpr std::size_t kMostDescriptors = 8;  // in one piece; the system closes those beyond

// Memory for the descriptors that come with bytes, aligned as the system wants it.
union Control {
  cmsghdr aligned;
  std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> bytes;
};

}  // namespace

ssize_t ReceiveWith(int fd, char* data, std::size_t size, std::vector<Descriptor>* descriptors) {
  Control control;
  iovec bytes{data, size};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  const ssize_t count = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (count < 0) return count;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t length = header->cmsg_len - CMSG_LEN(0);
    for (std::size_t at = 0; at < length; at += sizeof(int)) {
      descriptors->emplace_back(GetNumber<int>(reinterpret_cast<const char*>(CMSG_DATA(header)) + at));
    }
  }
  return count;
}

ssize_t SendWith(int fd, const char* data, std::size_t size, const Descriptor& descriptor) {
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
  PutNumber(descriptor.get(), reinterpret_cast<char*>(CMSG_DATA(header)));
  return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace envwire::internal
