#include <chrono>
#include <limits>
#include <thread>

#include "envwire/conformance.hpp"
#include "kit/conformance/every_space.h"

namespace envwire {
namespace {

Dict FrameModes() { return {{"render_modes", List{{"rgb_array", "ansi"}}}, {"render_fps", 10}}; }

// An observation is [steps of the episode, sum of its actions].
class Counter : public Environment {
 public:
  explicit Counter(const MakeContext& context)
      : Environment(Space::Uniform<std::int64_t>({2}, 0, std::int64_t{1} << 62U), Discrete{2}, FrameModes()),
        render_mode_(context.render_mode.value_or("")) {
    if (const Value* length = context.kwargs.Find("length")) length_ = length->AsInt();
    Expose("steps", [this] { return Value(steps_); });
    Expose("sum", [this] { return Value(sum_); });
    Expose(
        "length", [this] { return Value(length_); }, [this](const Value& value) { length_ = value.AsInt(); });
    ExposeMethod("add", [this](const std::vector<Value>& args, const Dict&) { return Value(Add(args.at(0).AsInt())); });
  }

  ResetResult Reset(const ResetContext& context) override {
    steps_ = sum_ = 0;
    return {Observed(), {{"draw", context.random.Random()}}};
  }

  StepResult Step(const Value& action) override {
    Add(action.AsInt());
    return {Observed(), action.AsDouble(), steps_ == length_};
  }

  Value Render() override {
    if (render_mode_ == "ansi") return std::to_string(steps_);
    if (render_mode_ == "rgb_array") return NdArray(DType::kUint8, {8, 8, 3}, std::string(192, char(steps_)));
    return None{};
  }

  std::optional<Value> SaveState() override { return Tuple{{steps_, sum_}}; }

  void RestoreState(const Value& state) override {
    steps_ = state.tuple()[0].AsInt();
    sum_ = state.tuple()[1].AsInt();
  }

 private:
  std::int64_t Add(std::int64_t amount) {
    ++steps_;
    return sum_ += amount;
  }
  NdArray Observed() const { return NdArray::Of<std::int64_t>({2}, {steps_, sum_}); }

  std::string render_mode_;
  std::int64_t length_ = 10;
  std::int64_t steps_ = 0;
  std::int64_t sum_ = 0;
};

// Base of the environments below: two Discrete(2) spaces, and an observation of 0.
class Plain : public Environment {
 public:
  explicit Plain(Space action_space = Discrete{2}) : Environment(Discrete{2}, std::move(action_space)) {
    set_lenient();
  }
  ResetResult Reset(const ResetContext&) override { return {0}; }
};

double NumberOf(const Value& value) {
  try {
    return value.AsDouble();
  } catch (const std::invalid_argument&) {
    return std::numeric_limits<double>::quiet_NaN();
  }
}

// Returns its input. A dictionary sets further results: "echo", "reward", "terminated", "truncated", "info", "warn".
class Echo : public Plain {
 public:
  Echo() {
    Expose(
        "value", [this] { return value_; }, [this](const Value& value) { value_ = value; });
    ExposeMethod("repeat", [](const std::vector<Value>& args, const Dict& kwargs) {
      return Value(Dict{{"args", Tuple{args}}, {"kwargs", kwargs}});
    });
  }

  ResetResult Reset(const ResetContext& context) override {
    const Dict info = context.options.value_or(Dict{});
    const Value* observation = info.Find("observation");
    return {observation == nullptr ? Value(0) : *observation, info};
  }

  StepResult Step(const Value& action) override {
    StepResult result{action};
    const Dict* said = action.If<Dict>();
    if (said == nullptr) return result;
    if (const Value* text = said->Find("warn")) Warn(text->text());
    if (const Value* echo = said->Find("echo")) result.observation = *echo;
    if (const Value* info = said->Find("info")) result.info = info->dict();
    if (const Value* reward = said->Find("reward")) {
      result.reward = NumberOf(*reward);
      if (!reward->Is<double>()) result.typed_reward = *reward;
    }
    SetEnd(said->Find("terminated"), &result.terminated, &result.typed_terminated);
    SetEnd(said->Find("truncated"), &result.truncated, &result.typed_truncated);
    return result;
  }

 private:
  static void SetEnd(const Value* said, bool* plain, std::optional<Value>* typed) {
    if (said == nullptr) return;
    *plain = NumberOf(*said) != 0;
    if (!said->Is<bool>()) *typed = *said;
  }

  Value value_;
};

// Raises what an action, or an option, names.
class Raise : public Plain {
 public:
  Raise() : Plain(TextSpace{1, 20, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"}) {}

  ResetResult Reset(const ResetContext& context) override {
    const Dict options = context.options.value_or(Dict{});
    const Value* in_close = options.Find("raise_in_close");
    raise_in_close_ = in_close == nullptr ? "" : in_close->text();
    if (const Value* name = options.Find("raise")) Throw(name->text());
    return {0};
  }

  StepResult Step(const Value& action) override {
    Throw(action.text());
    const Opaque object{"builtins.object", "<object>"};
    if (action.text() == "object") return {object};
    StepResult result{0};
    if (action.text() == "opaque") result.info.Add("it", object);
    return result;
  }

  void Close() override { Throw(raise_in_close_); }

 private:
  static void Throw(const std::string& name) {
    for (const char* known : {"ValueError", "KeyError", "RuntimeError", "ZeroDivisionError"}) {
      if (name == known) throw Raised(name, "asked for it", {"asked for it", 7});
    }
  }

  std::string raise_in_close_;
};

// A step takes as many seconds as its action says.
class Slow : public Plain {
 public:
  explicit Slow(const MakeContext& context) {
    if (const Value* seconds = context.kwargs.Find("seconds")) Sleep(*seconds);
  }
  StepResult Step(const Value& action) override {
    Sleep(action);
    return {++steps_};
  }

 private:
  static void Sleep(const Value& seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds.AsDouble()));
  }

  std::int64_t steps_ = 0;
};

// The action n gives n bytes, a list of numbers a tuple of such.
class Big : public Environment {
 public:
  Big() : Environment(Space::Uniform<std::uint8_t>({std::size_t{1} << 20U}, 0, 255), Discrete{std::int64_t{1} << 31U}) {
    set_lenient();
  }
  ResetResult Reset(const ResetContext&) override { return {Bytes(1)}; }

  StepResult Step(const Value& action) override {
    const List* counts = action.If<List>();
    if (counts == nullptr) return {Bytes(action.AsInt())};
    Tuple arrays;
    for (const Value& count : counts->values) arrays.values.push_back(Bytes(count.AsInt()));
    return {arrays};
  }

 private:
  static NdArray Bytes(std::int64_t count) {
    std::string bytes(static_cast<std::size_t>(count), '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i % 251);
    const std::vector<std::size_t> shape{bytes.size()};
    return NdArray(DType::kUint8, shape, std::move(bytes));
  }
};

template <class Kind>
std::unique_ptr<Environment> Made(const MakeContext&) {
  return std::make_unique<Kind>();
}
template <class Kind>
std::unique_ptr<Environment> MadeWith(const MakeContext& context) {
  return std::make_unique<Kind>(context);
}

}  // namespace

Registry ConformanceEnvironments() {
  return {{"Conformance/Big-v0", Made<Big>},     {"Conformance/Counter-v0", MadeWith<Counter>},
          {"Conformance/Echo-v0", Made<Echo>},   {"Conformance/EverySpace-v0", internal::MakeEverySpace},
          {"Conformance/Raise-v0", Made<Raise>}, {"Conformance/Slow-v0", MadeWith<Slow>}};
}

}  // namespace envwire
