#include "kit/replay/blake2b.h"

#include <algorithm>
#include <cstring>

namespace envwire::internal {
namespace {

constexpr std::array<std::uint64_t, 8> kInitial = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                                   0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                                   0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
// The first word of the parameters: no key, no tree, digests of so many bytes.
constexpr std::uint64_t kParameters = 0x01010000 ^ Blake2b::kBytes;
// Which words of the block each round takes, in order. The last two rounds begin again.
constexpr unsigned char kOrder[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};
constexpr unsigned kRounds = 12;
// The words that are mixed together: the columns of a square, then its diagonals.
constexpr unsigned char kMixed[8][4] = {{0, 4, 8, 12},  {1, 5, 9, 13},  {2, 6, 10, 14}, {3, 7, 11, 15},
                                        {0, 5, 10, 15}, {1, 6, 11, 12}, {2, 7, 8, 13},  {3, 4, 9, 14}};

std::uint64_t Rotated(std::uint64_t word, unsigned bits) { return word >> bits | word << (64 - bits); }

void Mix(std::uint64_t& a, std::uint64_t& b, std::uint64_t& c, std::uint64_t& d, std::uint64_t x, std::uint64_t y) {
  a += b + x;
  d = Rotated(d ^ a, 32);
  c += d;
  b = Rotated(b ^ c, 24);
  a += b + y;
  d = Rotated(d ^ a, 16);
  c += d;
  b = Rotated(b ^ c, 63);
}

}  // namespace

Blake2b::Blake2b() : state_(kInitial) { state_[0] ^= kParameters; }

void Blake2b::Update(std::string_view bytes) {
  while (!bytes.empty()) {
    if (filled_ == kBlock) Compress(false);
    const std::size_t taken = std::min(bytes.size(), kBlock - filled_);
    std::copy_n(bytes.begin(), taken, block_.begin() + static_cast<std::ptrdiff_t>(filled_));
    filled_ += taken;
    count_ += taken;
    bytes.remove_prefix(taken);
  }
}

std::string Blake2b::Digest() const {
  Blake2b last = *this;
  last.Compress(true);
  return {reinterpret_cast<const char*>(last.state_.data()), kBytes};
}

void Blake2b::Compress(bool last) {
  std::fill(block_.begin() + static_cast<std::ptrdiff_t>(filled_), block_.end(), 0);
  std::array<std::uint64_t, 16> words{};
  std::memcpy(words.data(), block_.data(), kBlock);
  std::array<std::uint64_t, 16> v{};
  std::copy(state_.begin(), state_.end(), v.begin());
  std::copy(kInitial.begin(), kInitial.end(), v.begin() + 8);
  v[12] ^= count_;
  if (last) v[14] = ~v[14];
  for (unsigned round = 0; round < kRounds; ++round) {
    const unsigned char* order = kOrder[round % 10];
    for (std::size_t i = 0; i < 8; ++i) {
      const unsigned char* at = kMixed[i];
      Mix(v[at[0]], v[at[1]], v[at[2]], v[at[3]], words[order[2 * i]], words[order[2 * i + 1]]);
    }
  }
  for (unsigned i = 0; i < 8; ++i) state_[i] ^= v[i] ^ v[i + 8];
  filled_ = 0;
}

}  // namespace envwire::internal
