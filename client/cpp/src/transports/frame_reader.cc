#include "transports/frame_reader.h"

#include <algorithm>
#include <utility>

#include "errors.h"
#include "transports/frames.h"
#include "transports/mailbox.h"

namespace envwire::internal {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} * 1024;
// Memory that one message needed is used again up to here.
constexpr std::size_t kMostKeptBytes = std::size_t{1} << 20U;

}  // namespace

FrameReader::FrameReader(Socket& socket, std::size_t limit)
    : socket_(socket), limit_(limit), buffer_(kBufferBytes, '\0') {}

// Has at least `bytes` bytes in the buffer. It grows with what arrives: a peer may announce much and send nothing.
void FrameReader::Fill(std::size_t bytes, Clock::time_point deadline) {
  if (buffer_.size() - begin_ < bytes) {
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
    end_ -= begin_;
    begin_ = 0;
  }
  while (end_ - begin_ < bytes) {
    if (end_ == buffer_.size()) buffer_.resize(std::min(bytes, 2 * buffer_.size()));
    end_ += socket_.Read(&buffer_[end_], buffer_.size() - end_, deadline);
  }
}

bool FrameReader::empty() const {
  const Box* box = socket_.inbox();
  if (box == nullptr) return begin_ == end_;
  const auto* bytes = buffer_.data();
  return !box->has_frame() && std::all_of(bytes + begin_, bytes + end_, [](char byte) { return byte == 0; });
}

// Whether nothing came, or beside a mailbox, only a part of a wake: a frame in the box does not wait for the rest.
bool FrameReader::IsPartOfWake() const {
  if (begin_ == end_) return true;
  if (socket_.inbox() == nullptr || end_ - begin_ >= kFrameHeaderBytes) return false;
  return std::all_of(&buffer_[begin_], &buffer_[end_], [](char byte) { return byte == 0; });
}

// Reads what follows the part of a wake: more bytes, or a frame from the box, behind which that part is read on.
void FrameReader::ReadNext(Clock::time_point deadline) {
  const Box* box = socket_.inbox();
  const auto taken = [&] { return box == nullptr ? 0 : box->count(); };
  const auto before = taken();
  const std::size_t part = end_ - begin_;
  std::fill_n(buffer_.begin(), part, '\0');
  begin_ = 0;
  end_ = part + socket_.ReadFirst(&buffer_[part], buffer_.size() - part, deadline);
  if (taken() != before) begin_ = part_ = part;
}

FrameReader::Header FrameReader::NextHeader(Clock::time_point deadline) {
  if (begin_ == end_) {
    begin_ = 0;
    end_ = std::exchange(part_, 0);
    if (buffer_.size() > kMostKeptBytes) std::string(kBufferBytes, '\0').swap(buffer_);
  }
  while (IsPartOfWake()) ReadNext(deadline);
  const char* at = Read(kFrameHeaderBytes, deadline).data();
  return {GetNumber<std::uint32_t>(at), GetNumber<std::uint32_t>(at + 4), GetNumber<std::uint64_t>(at + 8)};
}

FrameReader::Header FrameReader::ReadHeader(Clock::time_point deadline) {
  Header header = NextHeader(deadline);
  while (header.IsEmpty() && socket_.inbox() != nullptr) {  // it says no more than that the box is to be looked into
    if (Clock::now() >= deadline) throw Error("DEADLINE_EXCEEDED", "no answer came in time");
    header = NextHeader(deadline);
  }
  if ((header.slot != 0 && !takes_slots_) || header.attachments > limit_ ||
      header.message > limit_ - header.attachments) {
    throw ConnectionError("the peer announced a frame that is larger than the limit", false, true);
  }
  return header;
}

std::string FrameReader::TakeRest() {
  std::string rest = buffer_.substr(begin_, end_ - begin_) + std::string(part_, '\0');
  begin_ = end_ = part_ = 0;
  return rest;
}

std::string_view FrameReader::Read(std::size_t size, Clock::time_point deadline) {
  Fill(size, deadline);
  const std::string_view bytes(&buffer_[begin_], size);
  begin_ += size;
  return bytes;
}

void FrameReader::ReadInto(char* out, std::size_t size, Clock::time_point deadline) {
  std::size_t got = std::min(size, end_ - begin_);
  std::copy_n(buffer_.data() + begin_, got, out);
  begin_ += got;
  while (got < size) got += socket_.Read(out + got, size - got, deadline);
}

}  // namespace envwire::internal
