// Texts by their characters.
#pragma once

#include <string>
#include <vector>

namespace envwire::internal {

// The characters of a UTF-8 text, each as its bytes.
inline std::vector<std::string> Characters(const std::string& text) {
  std::vector<std::string> characters;
  for (const char byte : text) {
    const bool continues = (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
    if (continues && !characters.empty()) {
      characters.back() += byte;
    } else {
      characters.emplace_back(1, byte);
    }
  }
  return characters;
}

}  // namespace envwire::internal
