// Serves the environments of the conformance suite, and one that only counts, for tests of other languages; says where
// on standard output: serve [MAX_MESSAGE_BYTES]
#include <iostream>

#include "envwire/conformance.hpp"
#include "secured.h"

int main(int argc, char** argv) {
  envwire::ServeOptions options;
  options.port = 0;
  options.tls = TlsOfVariables();
  options.token = Token();
  if (argc > 1) options.max_message_bytes = std::stoul(argv[1]);
  envwire::Serve(envwire::ConformanceEnvironments(), options,
                 [](const std::string& target) { std::cout << target << std::endl; });
}
