// Serves CartPole-v1 with the numbers of Gymnasium's, and Faulty-v0, whose actions 7 to 10 go wrong.
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <thread>

#include "envwire/kit.hpp"

namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kGravity = 9.8, kPoleMass = 0.1, kTotalMass = kPoleMass + 1.0, kLength = 0.5;
constexpr double kPoleMassLength = kPoleMass * kLength, kForce = 10.0, kSeconds = 0.02;
constexpr double kFarthest = 2.4, kFallen = 12 * 2 * kPi / 360;
constexpr int kMostSteps = 500;

envwire::Space Observations() {
  const auto any = std::numeric_limits<float>::infinity();
  const std::vector<float> high{static_cast<float>(kFarthest * 2), any, static_cast<float>(kFallen * 2), any};
  std::vector<float> low;
  for (const float each : high) low.push_back(-each);
  return envwire::Box{envwire::NdArray::Of<float>({4}, low), envwire::NdArray::Of<float>({4}, high)};
}

class CartPole : public envwire::Environment {
 public:
  explicit CartPole(std::int64_t actions = 2) : Environment(Observations(), envwire::Discrete{actions}) {}

  envwire::ResetResult Reset(const envwire::ResetContext& context) override {
    for (double& each : state_) each = context.random.Uniform(-0.05, 0.05);
    steps_ = 0;
    return {Observed()};
  }

  // The order of the operations is part of the result.
  envwire::StepResult Step(const envwire::Value& action) override {
    auto& [x, x_dot, theta, theta_dot] = state_;
    const double force = action.AsInt() == 1 ? kForce : -kForce;
    const double cosine = std::cos(theta), sine = std::sin(theta);
    const double push = (force + kPoleMassLength * (theta_dot * theta_dot) * sine) / kTotalMass;
    const double theta_acc =
        (kGravity * sine - cosine * push) / (kLength * (4.0 / 3.0 - kPoleMass * (cosine * cosine) / kTotalMass));
    const double x_acc = push - kPoleMassLength * theta_acc * cosine / kTotalMass;
    x += kSeconds * x_dot;
    x_dot += kSeconds * x_acc;
    theta += kSeconds * theta_dot;
    theta_dot += kSeconds * theta_acc;
    const bool fallen = std::abs(x) > kFarthest || std::abs(theta) > kFallen;
    return {Observed(), 1.0, fallen, ++steps_ >= kMostSteps};
  }

 private:
  envwire::NdArray Observed() const {
    return envwire::NdArray::Of<float>({4}, std::vector<float>(state_.begin(), state_.end()));
  }

  std::array<double, 4> state_{};
  int steps_ = 0;
};

class Faulty : public CartPole {
 public:
  Faulty() : CartPole(12) {}

  envwire::StepResult Step(const envwire::Value& action) override {
    switch (action.AsInt()) {
      case 7: WriteNowhere(); break;
      case 8: std::this_thread::sleep_for(std::chrono::hours(1)); break;
      case 9: Flood();
      case 10: Leave();
      default: break;
    }
    return CartPole::Step(action);
  }

 private:
  static void WriteNowhere() {
    std::cout << "about to write to address 0" << std::endl;
    volatile int* volatile nowhere = nullptr;
    *nowhere = 1;
  }
  [[noreturn]] static void Flood() {
    for (const std::string line(1000, 'x');;) std::cout << line << '\n';
  }
  [[noreturn]] static void Leave() {
    std::cerr << "nothing left to simulate" << std::endl;
    std::exit(3);
  }
};

}  // namespace

int main() {
  envwire::ServeOptions options;
  options.port = 0;
  const envwire::Registry registry{
      {"CartPole-v1", [](const envwire::MakeContext&) { return std::make_unique<CartPole>(); }},
      {"Faulty-v0", [](const envwire::MakeContext&) { return std::make_unique<Faulty>(); }},
  };
  envwire::Serve(registry, options, [](const std::string& target) { std::cout << target << std::endl; });
}
