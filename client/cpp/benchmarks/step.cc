// Prints the microseconds of a step on the direct channel, once for each line on standard input:
// step HOST:PORT [ID [tcp]]
#include <chrono>
#include <iostream>
#include <string>

#include "envwire/envwire.hpp"

int main(int argc, char** argv) {
  constexpr int kSteps = 3000;
  envwire::ConnectOptions connect;
  connect.transport = argc > 3 ? envwire::TransportKind::kDirectTcp : envwire::TransportKind::kDirect;
  auto env =
      envwire::Env::Make(argc > 1 ? argv[1] : "localhost:50051", argc > 2 ? argv[2] : "CartPole-v1", {}, connect);
  for (std::string line; std::getline(std::cin, line);) {
    env.Reset(1);
    const auto start = std::chrono::steady_clock::now();
    for (int count = 0; count < kSteps; ++count) {
      if (env.Step(count % 2).done()) env.Reset();
    }
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    std::cout << took.count() / kSteps << std::endl;
  }
}
