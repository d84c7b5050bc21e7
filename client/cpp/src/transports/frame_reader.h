// Reads frames from a socket, into memory that is used again.
#pragma once

#include <string>
#include <string_view>

#include "transports/socket.h"

namespace envwire::internal {

class FrameReader {
 public:
  struct Header {
    std::size_t message;
    std::uint32_t slot;
    std::size_t attachments;
    bool IsEmpty() const { return message == 0 && slot == 0 && attachments == 0; }
  };

  // Frames of more than `limit` bytes are refused.
  FrameReader(Socket& socket, std::size_t limit);
  void set_limit(std::size_t limit) { limit_ = limit; }
  // Accepts frames with a slot, whatever it means; else they are refused.
  void set_takes_slots(bool takes) { takes_slots_ = takes; }

  // Whether nothing but wakes has come beyond what was read; what the system still holds would cost a call to see.
  bool empty() const;

  // All may throw ConnectionError, or Error (DEADLINE_EXCEEDED). Beside a mailbox, empty frames are passed over: they
  // only wake the reader of its box.
  Header ReadHeader(Clock::time_point deadline);
  // The next bytes, which stay until more are read.
  std::string_view Read(std::size_t size, Clock::time_point deadline);
  // What has arrived beyond what was read.
  std::string TakeRest();
  void ReadInto(char* out, std::size_t size, Clock::time_point deadline);

 private:
  Header NextHeader(Clock::time_point deadline);
  bool IsPartOfWake() const;
  void ReadNext(Clock::time_point deadline);
  void Fill(std::size_t bytes, Clock::time_point deadline);

  Socket& socket_;
  std::size_t limit_;
  bool takes_slots_ = false;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t part_ = 0;  // bytes of a wake that came before the frame in the buffer, which is from the box
};

}  // namespace envwire::internal
