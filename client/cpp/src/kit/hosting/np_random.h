// The environment's generator as clients mirror it.
#pragma once

#include "envwire/random.hpp"
#include "envwire/v1/environment.pb.h"
#include "envwire/value.hpp"

namespace envwire::internal {

// The generator of a session, the same object from reset to reset.
class NpRandom {
 public:
  Generator& generator() { return generator_; }

  // Starts the generator anew, as Gymnasium does at a reset with a seed. Throws Error (INVALID_VALUE).
  void Seed(const Value& seed);
  // Marks the generator as existing, so that its state is sent.
  void Create() { created_ = true; }
  // Takes the state that the client's copy has. Throws Error (UNSUPPORTED, INVALID_VALUE).
  void Restore(const v1::RandomState& message);
  // The state and the seed; nothing before there is a generator.
  void Mirror(v1::RandomMirror* mirror) const;

 private:
  Generator generator_;
  bool created_ = false;
};

// The sum of `seed` and an offset.
Value SeedAfter(const Value& seed, std::uint32_t count);

}  // namespace envwire::internal
