// NumPy's default generator, which draws the same numbers from the same seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace envwire {

// 128 bits, as two halves.
struct Uint128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

// The content of NumPy's `bit_generator.state` of a PCG64.
struct Pcg64State {
  Uint128 state;
  Uint128 increment;
  bool has_uint32 = false;  // half of the last 64 bits is kept for the next 32-bit number
  std::uint32_t uinteger = 0;
};

// Draws what `numpy.random.default_rng(seed)` draws, where it has the method.
class Generator {
 public:
  // The seed is a non-negative integer of any size, little-endian; absent for an unpredictable one.
  explicit Generator(const std::optional<std::string>& seed = std::nullopt);
  explicit Generator(std::uint64_t seed);

  // Restarts the generator with a seed.
  void Seed(std::string seed);

  // From 0 to below 1.
  double Random();
  double Uniform(double low, double high) { return low + (high - low) * Random(); }
  // From `low` to below `high`. Throws std::invalid_argument where there is none.
  std::int64_t Integers(std::int64_t low, std::int64_t high);

  std::uint64_t Next64();
  std::uint32_t Next32();

  const Pcg64State& state() const { return state_; }
  void set_state(const Pcg64State& state) { state_ = state; }
  // The seed, little-endian.
  const std::string& seed() const { return seed_; }

 private:
  std::string seed_;
  Pcg64State state_;
};

}  // namespace envwire
