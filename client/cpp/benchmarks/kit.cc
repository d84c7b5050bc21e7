// Serves an environment that does nothing, with the spaces of CartPole; prints the address on standard output.
#include "envwire/kit.hpp"

#include <iostream>

namespace {

class Still : public envwire::Environment {
 public:
  Still() : Environment(envwire::Space::Uniform<float>({4}, -1, 1), envwire::Discrete{2}) {}
  envwire::ResetResult Reset(const envwire::ResetContext&) override { return {Observed()}; }
  envwire::StepResult Step(const envwire::Value&) override { return {Observed(), 1.0}; }

 private:
  static envwire::NdArray Observed() { return envwire::NdArray::Of<float>({4}, {0, 0, 0, 0}); }
};

}  // namespace

int main() {
  envwire::ServeOptions options;
  options.port = 0;
  envwire::Serve({{"Still-v0", [](const envwire::MakeContext&) { return std::make_unique<Still>(); }}}, options,
                 [](const std::string& target) { std::cout << target << std::endl; });
}
