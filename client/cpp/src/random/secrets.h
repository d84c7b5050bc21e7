// Secret random bytes, and their comparison.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace envwire::internal {

std::string RandomBytes(std::size_t count);

std::string Hex(const std::string& bytes);

// Compares two secrets in constant time.
bool SameSecret(std::string_view one, std::string_view other);

}  // namespace envwire::internal
