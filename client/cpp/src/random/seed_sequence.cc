#include "random/seed_sequence.h"

#include <array>

namespace envwire::internal {
namespace {

constexpr std::size_t kPoolWords = 4;
using Pool = std::array<std::uint32_t, kPoolWords>;

std::vector<std::uint32_t> EntropyWords(const std::string& seed) {
  std::vector<std::uint32_t> words((seed.size() + 3) / 4, 0);
  for (std::size_t i = 0; i < seed.size(); ++i) {
    words[i / 4] |= std::uint32_t{static_cast<unsigned char>(seed[i])} << (8 * (i % 4));
  }
  while (words.size() > 1 && words.back() == 0) words.pop_back();
  return words;
}

// A hash whose constant goes on with each word.
class Hash {
 public:
  Hash(std::uint32_t constant, std::uint32_t multiplier) : constant_(constant), multiplier_(multiplier) {}

  std::uint32_t Of(std::uint32_t word) {
    word ^= constant_;
    constant_ *= multiplier_;
    word *= constant_;
    return word ^ (word >> 16U);
  }

 private:
  std::uint32_t constant_;
  std::uint32_t multiplier_;
};

std::uint32_t Mixed(std::uint32_t one, std::uint32_t other) {
  const std::uint32_t result = 0xca01f9ddU * one - 0x4973f715U * other;
  return result ^ (result >> 16U);
}

Pool MixedPool(const std::vector<std::uint32_t>& entropy) {
  Hash hash(0x43b0d7e5U, 0x931e8875U);
  Pool pool{};
  for (std::size_t i = 0; i < kPoolWords; ++i) pool[i] = hash.Of(i < entropy.size() ? entropy[i] : 0);
  for (std::size_t source = 0; source < kPoolWords; ++source) {
    for (std::size_t target = 0; target < kPoolWords; ++target) {
      if (source != target) pool[target] = Mixed(pool[target], hash.Of(pool[source]));
    }
  }
  for (std::size_t source = kPoolWords; source < entropy.size(); ++source) {
    for (std::uint32_t& word : pool) word = Mixed(word, hash.Of(entropy[source]));
  }
  return pool;
}

}  // namespace

std::vector<std::uint64_t> SeedWords(const std::string& seed, std::size_t count) {
  const Pool pool = MixedPool(EntropyWords(seed));
  Hash hash(0x8b51f9ddU, 0x58f38dedU);
  std::vector<std::uint64_t> words(count);
  for (std::size_t i = 0; i < 2 * count; ++i) {
    words[i / 2] |= std::uint64_t{hash.Of(pool[i % kPoolWords])} << (32 * (i % 2));
  }
  return words;
}

}  // namespace envwire::internal
