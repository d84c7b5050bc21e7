#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "envwire/envwire.hpp"
#include "spaces/codec.h"
#include "values/elements.h"

namespace envwire {
namespace {

TEST(Values, KeepTheirTypes) {
  const Value value = List{{1, 1.0, true, None{}, "text", Bytes{"b"}, Scalar{NdArray::Of<float>(1)}, Tuple{{2}}}};
  const Value read = DecodeValue(EncodeValue(value));
  const auto& values = read.As<List>().values;
  EXPECT_EQ(values[0].As<std::int64_t>(), 1);
  EXPECT_EQ(values[1].As<double>(), 1.0);
  EXPECT_TRUE(values[2].As<bool>());
  EXPECT_TRUE(values[3].Is<None>());
  EXPECT_EQ(values[4].text(), "text");
  EXPECT_EQ(values[5].As<Bytes>().data, "b");
  EXPECT_EQ(values[6].As<Scalar>().AsDouble(), 1.0);
  EXPECT_EQ(values[7].tuple()[0].AsInt(), 2);
}

TEST(Values, AreIntegersOfAllOf64Bits) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(Value(Scalar{NdArray::Of(kMost)}).AsInt(), kMost);
  EXPECT_EQ(Value(NdArray::Of<std::uint64_t>({1}, {kMost})).AsInt(), kMost);
  EXPECT_EQ(Value(-1.5).AsInt(), -1);
  EXPECT_THROW(Value(0x1p63).AsInt(), std::invalid_argument);
  EXPECT_THROW(Value(std::nan("")).AsInt(), std::invalid_argument);
  EXPECT_THROW(Value(Scalar{NdArray::Of<std::uint64_t>(~std::uint64_t{0})}).AsInt(), std::invalid_argument);
}

TEST(Values, HoldUnsignedIntegersThatAreLarge) {
  EXPECT_EQ(Value(~std::uint64_t{0}).As<BigInt>().bytes, std::string(8, '\xff') + '\0');
  EXPECT_EQ(Value(~std::uint32_t{0}).As<std::int64_t>(), 0xffffffff);
}

TEST(Spaces, ReachToTheEndsOfIntegers) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::mt19937_64 random(1);
  const Space last(Discrete{3, kMost - 2});
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(last.Contains(last.Sample(random)));
  EXPECT_FALSE(last.Contains(Scalar{NdArray::Of(kMost - 3)}));
  EXPECT_FALSE(Space(Discrete{3, -5}).Contains(kMost));
  EXPECT_FALSE(Space(Discrete{3, -5}).Contains(Scalar{NdArray::Of<std::uint64_t>(~std::uint64_t{0})}));
}

TEST(Values, ADictionaryKeepsItsOrder) {
  Dict dict{{"b", 1}, {"a", 2}};
  dict.Add(7, "seven");
  const Value read = DecodeValue(EncodeValue(dict));
  EXPECT_EQ(read.dict().entries()[0].first.text(), "b");
  EXPECT_EQ(read.dict().at("a").AsInt(), 2);
  EXPECT_EQ(read.dict().entries()[2].first.AsInt(), 7);
  EXPECT_THROW(read.dict().at("missing"), std::out_of_range);
}

TEST(Arrays, RefuseAWrongShapeAndAWrongType) {
  EXPECT_THROW(NdArray(DType::kFloat32, {2}, std::string(4, '\0')), std::invalid_argument);
  const NdArray array = NdArray::Of<float>({2}, {0.5F, 1.5F});
  EXPECT_EQ(array.View<float>()[1], 1.5F);
  EXPECT_THROW(array.View<double>(), std::invalid_argument);
}

TEST(Arrays, ReadHalfPrecision) {
  const NdArray array(DType::kFloat16, {3}, std::string("\x00\x3c\x00\xc0\x01\x00", 6));
  EXPECT_EQ(array.Number(0), 1.0);
  EXPECT_EQ(array.Number(1), -2.0);
  EXPECT_EQ(array.Number(2), 0x1p-24);
}

TEST(Arrays, AFewBytesDoNotFillTheMemory) {
  v1::Value message;
  for (int i = 0; i < 2; ++i) {  // each is allowed by itself
    v1::Tensor* tensor = message.mutable_tuple()->add_values()->mutable_array();
    tensor->set_data_type(v1::DATA_TYPE_UINT8);
    tensor->add_shape(std::uint64_t{200} << 20U);
    tensor->set_data("x");
    tensor->set_fill(true);
  }
  EXPECT_THROW(DecodeValue(message.SerializeAsString()), Error);
  message.mutable_tuple()->mutable_values()->RemoveLast();
  EXPECT_EQ(DecodeValue(message.SerializeAsString()).tuple().size(), 1U);
}

TEST(Spaces, AFewBytesDoNotFillTheMemory) {
  v1::Space message;
  for (int i = 0; i < 2; ++i) {  // each is allowed by itself
    v1::BoxSpace* box = message.mutable_tuple()->add_spaces()->mutable_box();
    for (v1::Tensor* bound : {box->mutable_low(), box->mutable_high()}) {
      bound->set_data_type(v1::DATA_TYPE_UINT8);
      bound->add_shape(std::uint64_t{200} << 20U);
      bound->set_data("x");
      bound->set_fill(true);
    }
  }
  EXPECT_THROW(internal::Decode(&message), Error);
}

TEST(Spaces, ContainWhatTheySample) {
  std::mt19937_64 random(1);
  const auto box = std::make_shared<const Space>(Space::Uniform<float>({2, 3}, -1, 1));
  const auto number = std::make_shared<const Space>(Discrete{3, 5});
  const Space whole(TupleSpace{
      {box, number, std::make_shared<const Space>(MultiBinary{{4}}),
       std::make_shared<const Space>(TextSpace{1, 3, "aé"}), std::make_shared<const Space>(Sequence{number}),
       std::make_shared<const Space>(Sequence{box, true}), std::make_shared<const Space>(GraphSpace{box, number})}});
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(whole.Contains(whole.Sample(random)));
  EXPECT_FALSE(number->Contains(8));
  EXPECT_FALSE(box->Contains(NdArray::Of<float>({2, 3}, {0, 0, 0, 0, 0, 2})));
  EXPECT_FALSE(box->Contains(NdArray::Of<double>({2, 3}, {0, 0, 0, 0, 0, 0})));
}

TEST(Spaces, LookIntoStackedSamplesAndGraphs) {
  const auto box = std::make_shared<const Space>(Space::Uniform<float>({2}, -1, 1));
  const Space stacked(Sequence{box, true});
  EXPECT_TRUE(stacked.Contains(NdArray::Of<float>({1, 2}, {0, 1})));
  EXPECT_TRUE(stacked.Contains(NdArray::Of<float>({0, 2}, {})));
  EXPECT_FALSE(stacked.Contains(NdArray::Of<float>({1, 2}, {0, 2})));
  EXPECT_FALSE(stacked.Contains(NdArray::Of<float>({2}, {0, 1})));
  const Space graphs(GraphSpace{box, nullptr});
  Graph graph{{NdArray::Of<float>({1, 2}, {0, 1})}, {}, {NdArray::Of<std::int32_t>({1, 2}, {0, 0})}};
  EXPECT_TRUE(graphs.Contains(graph));
  graph.edge_links = {NdArray::Of<std::int32_t>({1, 2}, {0, 1})};  // there is one node
  EXPECT_FALSE(graphs.Contains(graph));
}

TEST(Spaces, SampleNoLinksWhereEdgesHaveNoValues) {
  std::mt19937_64 random(1);
  const Space graphs(GraphSpace{std::make_shared<const Space>(Discrete{3}), nullptr});
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(graphs.Sample(random).As<Graph>().edge_links.empty());
}

TEST(Spaces, OfHalfPrecisionContainWhatTheySample) {
  std::mt19937_64 random(1);
  // From 0.25 to 0.3 and from -65504 to 65504, and without bounds.
  const NdArray low(DType::kFloat16, {3}, std::string("\x00\x34\xff\xfb\x00\xfc", 6));
  const NdArray high(DType::kFloat16, {3}, std::string("\xcd\x34\xff\x7b\x00\x7c", 6));
  const Space box(Box{low, high});
  NdArray last;
  for (int i = 0; i < 200; ++i) {
    const Value sample = box.Sample(random);
    EXPECT_TRUE(box.Contains(sample));
    EXPECT_NE(sample.array(), last);
    last = sample.array();
  }
}

TEST(Arrays, WriteHalfPrecision) {
  for (unsigned bits = 0; bits < 0x10000U; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const NdArray array(DType::kFloat16, {}, std::string(reinterpret_cast<const char*>(&half), 2));
    const double number = array.Number(0);
    EXPECT_TRUE(std::isnan(number) || internal::HalfOf(number) == half) << bits;  // of NaN there are many
  }
  EXPECT_EQ(internal::HalfOf(1 + 0x1p-11), 0x3c00);      // a tie, to even
  EXPECT_EQ(internal::HalfOf(1 + 3 * 0x1p-11), 0x3c02);  // the same, upwards
  EXPECT_EQ(internal::HalfOf(65520), 0x7c00);
  EXPECT_EQ(internal::HalfOf(std::nan("")), 0x7e00);
}

TEST(Spaces, OfOneNumberContainItsScalars) {
  const Space box = Space::Uniform<std::int32_t>({}, -5, 5);
  EXPECT_TRUE(box.Contains(Scalar{NdArray::Of<std::int32_t>(5)}));
  EXPECT_FALSE(box.Contains(Scalar{NdArray::Of<std::int32_t>(6)}));
  EXPECT_FALSE(Space::Uniform<std::int32_t>({1}, -5, 5).Contains(Scalar{NdArray::Of<std::int32_t>(5)}));
}

TEST(Values, AreRefusedWhereATextIsNotUtf8) {
  for (const std::string text : {"", "a", "\xc3\xa4", "\xe2\x98\x83", "\xf0\x9f\x98\x80"}) {
    EXPECT_EQ(DecodeValue(EncodeValue(text)).As<std::string>(), text);
  }
  // Latin-1, a lone surrogate, an overlong form, beyond Unicode, cut, nothing but a continuation
  for (const char* text : {"\xe4", "\xed\xa0\x80", "\xc0\xaf", "\xf4\x90\x80\x80", "a\xe2\x98", "\x80"}) {
    for (const Value& value : {Value(std::string(text)), Value(List{{std::string(text)}}), Value(Dict{{text, 1}})}) {
      try {
        EncodeValue(value);
        ADD_FAILURE() << "sent";
      } catch (const Error& error) {
        EXPECT_EQ(error.reason(), "UNSUPPORTED");
      }
    }
  }
}

TEST(Spaces, InTwoPlacesAreOne) {
  const auto number = std::make_shared<const Space>(Discrete{3});
  v1::Space message;
  internal::Encode(Space(TupleSpace{{number, std::make_shared<const Space>(TupleSpace{{number}})}}), &message);
  EXPECT_EQ(message.tuple().spaces(1).tuple().spaces(0).kind_case(), v1::Space::kSameAs);
  const Space read = internal::Decode(&message);
  const auto& parts = read.If<TupleSpace>()->spaces;
  EXPECT_EQ(parts[0], parts[1]->If<TupleSpace>()->spaces[0]);
}

}  // namespace
}  // namespace envwire
