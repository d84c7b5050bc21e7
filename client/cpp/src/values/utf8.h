// Texts travel as UTF-8.
#pragma once

#include <string>

namespace envwire::internal {

// Returns the text. Throws Error (UNSUPPORTED) where it is not UTF-8: no peer could read the message.
const std::string& CheckedText(const std::string& text);

}  // namespace envwire::internal
