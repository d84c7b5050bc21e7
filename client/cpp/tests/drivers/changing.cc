// Resets an environment with the options of each further argument, and says which actions its space then has.
#include <envwire/envwire.hpp>
#include <iostream>
#include <string>

int main(int count, char** arguments) {
  auto env = envwire::Env::Make(arguments[1], arguments[2]);
  for (int i = 3; i < count; ++i) {
    const std::int64_t actions = std::stoi(arguments[i]);
    const auto options = envwire::Dict{{"n", actions}};
    env.Reset(1, actions > 0 ? std::optional(options) : std::nullopt);
    std::int64_t contained = 0;
    while (env.action_space().Contains(contained)) ++contained;
    env.Step(contained - 1);
    std::cout << contained << " ";
  }
}
