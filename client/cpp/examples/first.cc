#include <envwire/envwire.hpp>
#include <iostream>

int main() {
  auto env = envwire::Env::Make("localhost:50051", "CartPole-v1");
  envwire::Value observation = env.Reset(42).observation;
  double total = 0;
  for (bool done = false; !done;) {
    const auto pole = observation.array().View<float>();  // the elements in place, without a copy
    const auto step = env.Step(pole[2] + pole[3] > 0 ? 1 : 0);
    observation = step.observation;
    total += step.reward;
    done = step.done();
  }
  std::cout << "return " << total << std::endl;
}
