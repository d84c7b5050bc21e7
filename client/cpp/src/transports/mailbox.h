// Memory in which two processes exchange small frames without the system. protos/envwire/v1/direct.proto, "Mailbox".
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "transports/socket.h"

namespace envwire::internal {

// Whether machines of this kind show one another's stores in order, which programs in every language can then rely on.
#if defined(__x86_64__) && defined(__linux__)
constexpr bool kHasMailboxes = true;
#else
constexpr bool kHasMailboxes = false;
#endif

constexpr std::size_t kBoxBytes = 4096;

// One direction of a mailbox, as one of its two ends sees it. Byte 0 counts the frames put into it, byte 1 is 1 while
// the reader sleeps; the last frame begins at byte 16. The peer can write anything anywhere at any time, so everything
// is looked at once.
class Box {
 public:
  Box(char* memory, std::size_t bytes);

  // Goes on where another process stopped, whose reader sleeps, if this is the reader's end.
  void Resume(std::uint8_t count) { count_ = count; }
  // The number of the frame last put, or taken.
  std::uint8_t count() const { return count_; }

  // The writer's. Whether a frame of `size` bytes, with its header, may be put: it fits, and the reader is awake.
  bool Takes(std::size_t size) const { return size <= room_ && !Sleeps(); }
  // Puts a frame, once the reader has taken the last one; returns whether the reader fell asleep meanwhile and has to
  // be woken.
  [[nodiscard]] bool Put(const char* frame, std::size_t size);

  // The reader's. Whether there is a frame.
  bool has_frame() const { return Get(kCount) != count_; }
  // Copies the frame to `out`, which holds `size` bytes; returns how many it has. Throws ConnectionError where its
  // length is not that of a frame in a box, or larger than `size`.
  std::size_t Take(char* out, std::size_t size);
  // Says whether the writer has to wake the reader; one that is about to sleep looks for a frame once more.
  void SetSleeping(bool sleeps);

 private:
  static constexpr std::size_t kCount = 0;
  static constexpr std::size_t kSleeps = 1;
  static constexpr std::size_t kFrame = 16;

  // These two cannot pass one another: either the reader sees a frame before it sleeps, or the writer that it sleeps.
  std::uint8_t Get(std::size_t at) const { return __atomic_load_n(memory_ + at, __ATOMIC_SEQ_CST); }
  void Set(std::size_t at, std::uint8_t value) { __atomic_store_n(memory_ + at, value, __ATOMIC_SEQ_CST); }
  bool Sleeps() const { return Get(kSleeps) != 0; }

  std::uint8_t* memory_;
  std::size_t room_;
  std::uint8_t count_ = 0;  // of the frames put, or taken
  bool sleeping_ = true;    // what the reader said last
};

// Both boxes, mapped for as long as this lives.
class Mailbox {
 public:
  // Maps the memory that a peer shares, of two boxes; null where it is not what it is said to be, so that touching it
  // could fail, or where memory is short.
  static std::unique_ptr<Mailbox> Map(const Descriptor& memory, std::size_t box_bytes);
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  Box requests;
  Box answers;

 private:
  Mailbox(char* memory, std::size_t box_bytes);

  char* memory_;
  std::size_t bytes_;
};

// Makes memory of two boxes whose readers sleep, which cannot grow or shrink. A descriptor of -1 where memory is short.
Descriptor MakeMailboxMemory(std::size_t box_bytes);

}  // namespace envwire::internal
