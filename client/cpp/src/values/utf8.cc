#include "values/utf8.h"

#include <cstdint>

#include "envwire/error.hpp"

namespace envwire::internal {
namespace {

// What a first byte says: how many bytes follow, its own bits, and the least code point that needs so many.
struct Lead {
  unsigned mask;
  unsigned value;
  std::size_t more;
  std::uint32_t least;
};
constexpr Lead kLeads[] = {{0x80, 0x00, 0, 0}, {0xe0, 0xc0, 1, 0x80}, {0xf0, 0xe0, 2, 0x800}, {0xf8, 0xf0, 3, 0x10000}};

constexpr bool IsCharacter(std::uint32_t code) { return code <= 0x10ffff && (code < 0xd800 || code > 0xdfff); }

// Returns how many bytes the character at `at` has, 0 where there is none.
std::size_t CharacterBytes(const std::string& text, std::size_t at) {
  const unsigned first = static_cast<unsigned char>(text[at]);
  for (const Lead& lead : kLeads) {
    if ((first & lead.mask) != lead.value) continue;
    if (text.size() - at <= lead.more) return 0;
    std::uint32_t code = first & ~lead.mask;
    for (std::size_t i = 1; i <= lead.more; ++i) {
      const unsigned next = static_cast<unsigned char>(text[at + i]);
      if ((next & 0xc0U) != 0x80U) return 0;
      code = code << 6U | (next & 0x3fU);
    }
    return code >= lead.least && IsCharacter(code) ? lead.more + 1 : 0;
  }
  return 0;
}

}  // namespace

const std::string& CheckedText(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = CharacterBytes(text, at);
    if (bytes == 0) {
      throw Error("UNSUPPORTED", "a text is not UTF-8 at byte " + std::to_string(at) + ": send Bytes, or convert it");
    }
    at += bytes;
  }
  return text;
}

}  // namespace envwire::internal
