// Balances a pole on a server: example_cartpole HOST:PORT
#include <iostream>

#include "envwire/envwire.hpp"

int main(int argc, char** argv) {
  auto env = envwire::Env::Make(argc > 1 ? argv[1] : "localhost:50051", "CartPole-v1");
  envwire::Value observation = env.Reset(42).observation;
  double total = 0;
  for (bool done = false; !done;) {
    const auto pole = observation.array().View<float>();
    const auto step = env.Step(pole[2] + pole[3] > 0 ? 1 : 0);
    observation = step.observation;
    total += step.reward;
    done = step.done();
  }
  std::cout << "return " << total << " over " << env.transport() << "\n";
}
