// BLAKE2b of 16 bytes (RFC 7693), by which answers of recordings are compared. OpenSSL before 3.2 has only that of 64.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace envwire::internal {

class Blake2b {
 public:
  static constexpr std::size_t kBytes = 16;

  Blake2b();
  void Update(std::string_view bytes);
  // The digest of all bytes so far; more may follow.
  std::string Digest() const;

 private:
  static constexpr std::size_t kBlock = 128;

  void Compress(bool last);

  std::array<std::uint64_t, 8> state_;
  std::array<unsigned char, kBlock> block_{};  // full ones wait too: the last one is compressed in another way
  std::size_t filled_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace envwire::internal
