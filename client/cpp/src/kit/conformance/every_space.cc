#include "kit/conformance/every_space.h"

#include <limits>

namespace envwire::internal {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

SpacePtr Shared(Space space) { return std::make_shared<const Space>(std::move(space)); }

Space EverySpaceThereIs() {
  const SpacePtr number = Shared(Discrete{3});
  const SpacePtr point = Shared(Space::Uniform<float>({2}, 0, 1));
  DictSpace all;
  const auto add = [&](const char* key, Space space) { all.entries.emplace_back(key, Shared(std::move(space))); };
  add("box", Box{NdArray::Of<float>({2}, {-1, -kInfinity}), NdArray::Of<float>({2}, {1, kInfinity})});
  add("discrete", Discrete{5, -2});
  add("graph", GraphSpace{Shared(*point), Shared(*number)});
  add("multi_binary", MultiBinary{{2, 3}});
  add("multi_discrete", MultiDiscrete{NdArray::Of<std::int64_t>({2}, {3, 4}), NdArray::Of<std::int64_t>({2}, {0, 10})});
  add("one_of", OneOf{{Shared(Discrete{2}), Shared(Space::Uniform<double>({1}, 0, 1))}});
  add("sequence", Sequence{Shared(Discrete{4})});
  add("stacked", Sequence{Shared(*point), true});
  add("text", TextSpace{1, 4, "ab"});
  add("tuple", TupleSpace{{number, number}});
  return all;
}

// An observation is a sample of the space, whose generator each reset seeds anew; a step takes any action.
class EverySpace : public Environment {
 public:
  EverySpace() : Environment(EverySpaceThereIs(), EverySpaceThereIs()) { set_lenient(); }

  ResetResult Reset(const ResetContext& context) override {
    random_.seed(context.random.Next64());
    return {observation_space().Sample(random_)};
  }

  StepResult Step(const Value& action) override {
    StepResult result{observation_space().Sample(random_)};
    result.info.Add("contained", action_space().Contains(action));
    return result;
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace

std::unique_ptr<Environment> MakeEverySpace(const MakeContext&) { return std::make_unique<EverySpace>(); }

}  // namespace envwire::internal
