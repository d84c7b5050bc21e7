// Serves the environments of the conformance suite for tests of other languages; says where on standard output.
#include <iostream>

#include "envwire/conformance.hpp"
#include "secured.h"

int main() {
  envwire::ServeOptions options;
  options.port = 0;
  options.tls = TlsOfVariables();
  options.token = Token();
  options.max_message_bytes = 32 * 1024 * 1024;  // the suite is ready to go beyond
  envwire::Serve(envwire::ConformanceEnvironments(), options,
                 [](const std::string& target) { std::cout << target << std::endl; });
}
