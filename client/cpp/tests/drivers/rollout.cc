// Takes the actions that a test wrote on standard input, and tells what came of each, as the bytes of values.
//
// Input, a line each: target, transport, id, kwargs, num_envs, seed, chunk, and then the actions, values in
// hexadecimal. Output: "made"; an outcome a line, its parts apart by spaces; then "resumed N TRANSPORT". An error is
// "refused REASON".
#include <iostream>
#include <map>
#include <sstream>

#include "envwire/envwire.hpp"
#include "secured.h"

namespace {

using namespace envwire;  // NOLINT: a test program

std::string Unhex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::string Hex(const Value& value) {
  static const char* const kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : EncodeValue(value)) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4U];
    text += kDigits[static_cast<unsigned char>(byte) & 15U];
  }
  return text;
}

void Tell(const std::vector<Value>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) std::cout << (i == 0 ? "" : " ") << Hex(parts[i]);
  std::cout << "\n";
}

void TellStep(const StepResult& step) {
  Tell({step.observation, step.reward, step.terminated, step.truncated, step.info});
}

void Single(Env& env, std::int64_t seed, const std::vector<Value>& actions, std::size_t chunk) {
  const ResetResult first = env.Reset(seed);
  Tell({first.observation, first.info});
  for (std::size_t taken = 0; taken < actions.size();) {
    const std::vector<Value> some(
        actions.begin() + static_cast<std::ptrdiff_t>(taken),
        actions.begin() + static_cast<std::ptrdiff_t>(std::min(taken + chunk, actions.size())));
    const std::vector<StepResult> steps =
        chunk == 1 ? std::vector<StepResult>{env.Step(some[0])} : env.StepMany(some).steps;
    for (const StepResult& step : steps) TellStep(step);
    taken += steps.size();
    if (steps.back().done()) {
      const ResetResult next = env.Reset();
      Tell({next.observation, next.info});
    }
  }
}

void Many(VectorEnv& env, std::int64_t seed, const std::vector<Value>& actions) {
  const VectorReset first = env.Reset(seed);
  Tell({first.observations, first.infos});
  for (const Value& action : actions) {
    const VectorStep step = env.Step(action);
    Tell({step.observations, step.rewards, step.terminations, step.truncations, step.infos});
  }
}

std::string Line() {
  std::string line;
  std::getline(std::cin, line);
  return line;
}

void Roll() {
  const std::map<std::string, TransportKind> kinds = {{"unary", TransportKind::kUnary},
                                                      {"stream", TransportKind::kStream},
                                                      {"direct", TransportKind::kDirect},
                                                      {"direct-tcp", TransportKind::kDirectTcp}};
  const std::string target = Line();
  ConnectOptions connect;
  connect.transport = kinds.at(Line());
  connect.tls = TlsOfVariables();
  connect.token = Token();
  const std::string id = Line();
  const Dict kwargs = DecodeValue(Unhex(Line())).dict();
  const auto num_envs = static_cast<std::uint32_t>(std::stoul(Line()));
  const std::int64_t seed = std::stoll(Line());
  const std::size_t chunk = std::stoul(Line());
  std::vector<Value> actions;
  for (std::string line = Line(); !line.empty(); line = Line()) actions.push_back(DecodeValue(Unhex(line)));
  const auto finish = [](auto& env) {
    std::cout << "resumed " << env.resumed() << " " << env.transport() << std::endl;
  };
  if (num_envs > 0) {
    VectorOptions options;
    options.kwargs = kwargs;
    VectorEnv env = VectorEnv::Make(target, id, num_envs, options, connect);
    std::cout << "made" << std::endl;
    Many(env, seed, actions);
    finish(env);
  } else {
    MakeOptions options;
    options.kwargs = kwargs;
    Env env = Env::Make(target, id, options, connect);
    std::cout << "made" << std::endl;
    Single(env, seed, actions, chunk);
    finish(env);
  }
}

}  // namespace

int main() {
  try {
    Roll();
  } catch (const Error& error) {
    std::cout << "refused " << error.reason() << std::endl;
  }
}
