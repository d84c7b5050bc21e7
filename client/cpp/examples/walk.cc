// Serves a custom environment: example_walk, then RemoteEnv("localhost:50051", "Walk-v0") in Python.
#include <envwire/kit.hpp>

class Walk : public envwire::Environment {
 public:
  Walk() : Environment(envwire::Space::Uniform<float>({1}, -10, 10), envwire::Discrete{2}) {}

  envwire::ResetResult Reset(const envwire::ResetContext& context) override {
    position_ = static_cast<float>(context.random.Uniform(-1, 1));
    return {Observation()};
  }

  envwire::StepResult Step(const envwire::Value& action) override {
    position_ += action.AsInt() == 1 ? 1.0F : -1.0F;
    const bool arrived = position_ >= 10;
    return {Observation(), arrived ? 1.0 : 0.0, arrived, position_ <= -10};
  }

 private:
  envwire::NdArray Observation() const { return envwire::NdArray::Of<float>({1}, {position_}); }
  float position_ = 0;
};

int main() {
  envwire::Serve({{"Walk-v0", [](const envwire::MakeContext&) { return std::make_unique<Walk>(); }}});
}
