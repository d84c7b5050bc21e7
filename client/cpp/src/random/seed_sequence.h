// NumPy's SeedSequence: spreads a seed of any size over as many random bits as a generator starts with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace envwire::internal {

// The first `count` 64-bit words that SeedSequence(seed) generates; `seed` is little-endian.
std::vector<std::uint64_t> SeedWords(const std::string& seed, std::size_t count);

}  // namespace envwire::internal
