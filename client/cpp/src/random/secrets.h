// Random bytes that nobody can guess, and what is done with them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace envwire::internal {

std::string RandomBytes(std::size_t count);

std::string Hex(const std::string& bytes);

// Compares in a time that does not tell where two secrets differ.
bool SameSecret(std::string_view one, std::string_view other);

}  // namespace envwire::internal
