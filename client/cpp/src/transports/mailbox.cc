#include "transports/mailbox.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "errors.h"
#include "transports/frames.h"

namespace envwire::internal {
namespace {

constexpr std::size_t kLeastBytes = 64;
// A frame is read into memory of this size.
constexpr std::size_t kMostBytes = std::size_t{128} * 1024;

// Whether touching the first `bytes` bytes will not fail: a peer could have cut them off, now or later.
bool StaysWhole(int fd, std::size_t bytes) {
  struct stat status {};
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (static_cast<unsigned>(seals) & F_SEAL_SHRINK) == 0) return false;
  return fstat(fd, &status) == 0 && status.st_size >= 0 && static_cast<std::size_t>(status.st_size) >= bytes;
}

}  // namespace

Box::Box(char* memory, std::size_t bytes) : memory_(reinterpret_cast<std::uint8_t*>(memory)), room_(bytes - kFrame) {}

bool Box::Put(const char* frame, std::size_t size) {
  std::memcpy(memory_ + kFrame, frame, size);
  Set(kCount, ++count_);
  return Sleeps();
}

std::size_t Box::Take(char* out, std::size_t size) {
  count_ = Get(kCount);
  const auto* words = reinterpret_cast<const std::uint64_t*>(memory_ + kFrame);
  const std::uint64_t first = __atomic_load_n(words, __ATOMIC_RELAXED);
  const std::uint64_t attachments = __atomic_load_n(words + 1, __ATOMIC_RELAXED);
  const std::size_t whole = kFrameHeaderBytes + static_cast<std::uint32_t>(first);
  // An empty one would be taken for a wake, and its writer await an answer.
  if (whole == kFrameHeaderBytes || whole > room_ || whole > size || attachments != 0) {
    throw ConnectionError("the peer put a frame into the mailbox that is empty or does not fit", false, true);
  }
  PutNumber(first, out);
  PutNumber(attachments, out + sizeof(first));
  std::memcpy(out + kFrameHeaderBytes, memory_ + kFrame + kFrameHeaderBytes, whole - kFrameHeaderBytes);
  return whole;
}

void Box::SetSleeping(bool sleeps) {
  if (std::exchange(sleeping_, sleeps) != sleeps) Set(kSleeps, sleeps ? 1 : 0);
}

Mailbox::Mailbox(char* memory, std::size_t box_bytes)
    : requests(memory, box_bytes), answers(memory + box_bytes, box_bytes), memory_(memory), bytes_(2 * box_bytes) {}

Mailbox::~Mailbox() { munmap(memory_, bytes_); }

std::unique_ptr<Mailbox> Mailbox::Map(const Descriptor& memory, std::size_t box_bytes) {
  const bool fits = box_bytes >= kLeastBytes && box_bytes <= kMostBytes && box_bytes % sizeof(std::uint64_t) == 0;
  if (!kHasMailboxes || !fits || !StaysWhole(memory.get(), 2 * box_bytes)) return nullptr;
  void* mapped = mmap(nullptr, 2 * box_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (mapped == MAP_FAILED) return nullptr;
  return std::unique_ptr<Mailbox>(new Mailbox(static_cast<char*>(mapped), box_bytes));
}

Descriptor MakeMailboxMemory(std::size_t box_bytes) {
  Descriptor memory(memfd_create("envwire-mailbox", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const auto bytes = static_cast<off_t>(2 * box_bytes);
  const char sleeps = 1;
  const bool made = posix_fallocate(memory.get(), 0, bytes) == 0 &&
                    fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 &&
                    pwrite(memory.get(), &sleeps, 1, 1) == 1 &&
                    pwrite(memory.get(), &sleeps, 1, static_cast<off_t>(box_bytes) + 1) == 1;
  return made ? std::move(memory) : Descriptor(-1);
}

}  // namespace envwire::internal
