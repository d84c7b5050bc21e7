// What a test says about TLS and tokens, in variables of the environment that name files.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "envwire/options.hpp"

inline std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

inline std::string Contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::string FileNamedBy(const char* variable) { return Contents(Variable(variable)); }

inline std::string Token() { return Variable("ENVWIRE_TOKEN"); }

// The authority of the peer, and the own certificate and key; nothing without an authority.
inline std::optional<envwire::Tls> TlsOfVariables() {
  if (Variable("ENVWIRE_CA").empty()) return std::nullopt;
  return envwire::Tls{FileNamedBy("ENVWIRE_CA"), FileNamedBy("ENVWIRE_CERT"), FileNamedBy("ENVWIRE_KEY"), ""};
}
