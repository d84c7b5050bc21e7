// Texts of actions and spaces in errors.
#include "spaces/shown.h"

#include <gtest/gtest.h>

namespace envwire::internal {
namespace {

TEST(Shown, ValuesLookAsInPython) {
  EXPECT_EQ(Shown(Value(9)), "9");
  EXPECT_EQ(Shown(Value(0.5)), "0.5");
  EXPECT_EQ(Shown(Value("left")), "'left'");
  EXPECT_EQ(Shown(Value(NdArray::Of<float>({2}, {0.5F, 3}))), "array([0.5, 3], dtype=float32)");
  EXPECT_EQ(Shown(Value(NdArray::Of<std::int64_t>({2, 1}, {1, 2}))), "array([1, 2], shape=(2, 1), dtype=int64)");
  EXPECT_EQ(Shown(Value(Scalar{NdArray::Of<std::int64_t>(4)})), "np.int64(4)");
  EXPECT_EQ(Shown(Value(Dict{{"a", Tuple{{true}}}, {"b", List{{None{}, 1}}}})), "{'a': (True,), 'b': [None, 1]}");
}

TEST(Shown, SpacesLookAsInGymnasium) {
  EXPECT_EQ(Shown(Space(Discrete{2})), "Discrete(2)");
  EXPECT_EQ(Shown(Space(Discrete{3, -1})), "Discrete(3, start=-1)");
  EXPECT_EQ(Shown(Space::Uniform<float>({1}, -2, 2)), "Box(-2, 2, (1,), float32)");
  const auto box = std::make_shared<const Space>(Space::Uniform<float>({84, 84}, 0, 1));
  EXPECT_EQ(Shown(Space(TupleSpace{{box, box}})), "Tuple(Box(0, 1, (84, 84), float32), Box(0, 1, (84, 84), float32))");
}

TEST(Shown, LargeOnesAreCut) {
  EXPECT_EQ(Shown(Value(NdArray(DType::kUint8, {1U << 20U}, std::string(1U << 20U, 'a')))),
            "array([97, 97, 97, 97, 97, 97, 97, 97, ...], dtype=uint8)");
  Value deep = 1;
  for (int i = 0; i < 300; ++i) deep = List{{deep}};
  EXPECT_LE(Shown(deep).size(), 200U);
  EXPECT_EQ(Shown(Value(std::string(300, 'x'))).size(), 200U);
  std::string text;
  for (int i = 0; i < 300; ++i) text += "\xc3\xa9";
  EXPECT_EQ(Shown(Value(text)).size() % 2, 1U);  // the quotation mark, and whole characters
}

}  // namespace
}  // namespace envwire::internal
