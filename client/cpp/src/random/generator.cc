// PCG64 (XSL RR 128/64), as NumPy has it.
#include <stdexcept>

#include "envwire/random.hpp"
#include "random/secrets.h"
#include "random/seed_sequence.h"

namespace envwire {
namespace {

__extension__ typedef unsigned __int128 Wide;  // NOLINT: what -Wpedantic takes

constexpr std::size_t kSeedBytes = 16;
constexpr Wide kMultiplier = (Wide{2549297995355413924ULL} << 64U) | 4865540595714422341ULL;

Wide Joined(Uint128 halves) { return (Wide{halves.high} << 64U) | halves.low; }
Uint128 Halves(Wide number) { return {static_cast<std::uint64_t>(number >> 64U), static_cast<std::uint64_t>(number)}; }

Wide Advanced(Wide state, Wide increment) { return state * kMultiplier + increment; }

std::string Little(std::uint64_t number) {
  std::string bytes;
  for (unsigned shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(number >> shift);
  return bytes;
}

// Lemire's method. `Word` is what is drawn at once, `Product` twice as wide.
template <class Word, class Product, class Draw>
Word Below(Word range, Draw draw) {
  constexpr unsigned kBits = 8 * sizeof(Word);
  const Word threshold = static_cast<Word>(0 - range) % range;
  for (;;) {
    const Product product = Product{draw()} * range;
    if (static_cast<Word>(product) >= threshold) return static_cast<Word>(product >> kBits);
  }
}

}  // namespace

Generator::Generator(const std::optional<std::string>& seed) { Seed(seed ? *seed : internal::RandomBytes(kSeedBytes)); }

Generator::Generator(std::uint64_t seed) { Seed(Little(seed)); }

void Generator::Seed(std::string seed) {
  seed_ = std::move(seed);
  const std::vector<std::uint64_t> words = internal::SeedWords(seed_, 4);
  const Wide increment = (Joined({words[2], words[3]}) << 1U) | 1U;
  const Wide state = Advanced(increment + Joined({words[0], words[1]}), increment);
  state_ = {Halves(state), Halves(increment)};
}

std::uint64_t Generator::Next64() {
  state_.state = Halves(Advanced(Joined(state_.state), Joined(state_.increment)));
  const std::uint64_t folded = state_.state.high ^ state_.state.low;
  const auto rotation = static_cast<unsigned>(state_.state.high >> 58U);
  return (folded >> rotation) | (folded << ((64 - rotation) % 64));
}

std::uint32_t Generator::Next32() {
  if (state_.has_uint32) {
    state_.has_uint32 = false;
    return state_.uinteger;
  }
  const std::uint64_t bits = Next64();
  state_.has_uint32 = true;
  state_.uinteger = static_cast<std::uint32_t>(bits >> 32U);
  return static_cast<std::uint32_t>(bits);
}

double Generator::Random() { return static_cast<double>(Next64() >> 11U) * 0x1p-53; }

std::int64_t Generator::Integers(std::int64_t low, std::int64_t high) {
  if (low >= high) throw std::invalid_argument("integers are drawn from an empty range");
  const std::uint64_t largest = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) - 1;
  std::uint64_t drawn = 0;
  if (largest == 0xffffffffU) {
    drawn = Next32();
  } else if (largest > 0xffffffffU) {
    drawn = Below<std::uint64_t, Wide>(largest + 1, [this] { return Next64(); });
  } else if (largest > 0) {
    drawn = Below<std::uint32_t, std::uint64_t>(static_cast<std::uint32_t>(largest + 1), [this] { return Next32(); });
  }
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + drawn);
}

}  // namespace envwire
