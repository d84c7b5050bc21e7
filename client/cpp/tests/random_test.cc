// Numbers that NumPy's default_rng draws.
#include "envwire/random.hpp"

#include <gtest/gtest.h>

namespace envwire {
namespace {

TEST(Generator, DrawsWhatNumPyDraws) {
  Generator random(42);
  EXPECT_EQ(random.Random(), 0.7739560485559633);
  EXPECT_EQ(random.Integers(0, 10), 6);
  EXPECT_EQ(random.Integers(0, 10), 4);
  EXPECT_EQ(random.Integers(0, 10), 4);
  EXPECT_EQ(random.Integers(-5, std::int64_t{1} << 40U), 766764256788);
  EXPECT_EQ(random.Uniform(-1, 1), -0.8116453042247009);
  EXPECT_EQ(random.Integers(0, std::int64_t{1} << 32U), 3687649986);
}

TEST(Generator, TakesSeedsOfAnySize) {
  std::string seed(17, '\0');  // 2**130 + 7
  seed[0] = 7;
  seed[16] = 4;
  Generator random(seed);
  EXPECT_EQ(random.Random(), 0.8580720717556224);
  EXPECT_EQ(Generator(0).Random(), 0.6369616873214543);
}

TEST(Generator, GoesOnFromAState) {
  Generator random(1);
  random.Next32();  // half of what was drawn is kept
  Generator other(2);
  other.set_state(random.state());
  EXPECT_EQ(other.Next32(), random.Next32());
  EXPECT_EQ(other.Next64(), random.Next64());
}

TEST(Generator, RefusesAnEmptyRange) { EXPECT_THROW(Generator(1).Integers(3, 3), std::invalid_argument); }

}  // namespace
}  // namespace envwire
