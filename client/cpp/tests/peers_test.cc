// What a lying peer sends: the library's own error, and nothing that takes the process or its memory.
#include <gtest/gtest.h>

#include <limits>

#include "envwire/envwire.hpp"
#include "session/client_session.h"
#include "spaces/codec.h"
#include "values/checks.h"

namespace envwire::internal {
namespace {

constexpr std::uint64_t kHuge = std::uint64_t{1} << 62U;

// A session that awaits the answer to its first step.
ClientSession Awaiting(const v1::MakeResponse& made) {
  ClientSession session;
  session.Make({}, Clock::now());
  Answer answer;
  *answer.message.mutable_make() = made;
  session.Receive(answer);
  v1::StepRequest request;
  session.Next(Kind::kStep, &request, Clock::now());
  return session;
}

Answer AskingFor(const std::string& number) {
  v1::ErrorInfo info;
  info.set_domain("envwire");
  info.set_reason("SEQUENCE_GAP");
  (*info.mutable_metadata())["expected"] = number;
  Answer answer;
  auto* detail = answer.message.mutable_error()->add_details();
  detail->set_type_url("type.googleapis.com/google.rpc.ErrorInfo");
  info.SerializeToString(detail->mutable_value());
  return answer;
}

TEST(Peers, ANumberThatIsNoneIsTheServersRefusal) {
  for (const char* number : {"", "many", "-1", "99999999999999999999", "7 "}) {
    ClientSession session = Awaiting({});
    EXPECT_TRUE(std::holds_alternative<Refused>(session.Receive(AskingFor(number)))) << number;
  }
}

TEST(Peers, ARequestIsNumberedAnewOnce) {
  ClientSession session = Awaiting({});
  EXPECT_TRUE(std::holds_alternative<SendAgain>(session.Receive(AskingFor("7"))));
  EXPECT_EQ(session.sequence(), 7U);
  EXPECT_TRUE(std::holds_alternative<Refused>(session.Receive(AskingFor("8"))));
}

TEST(Peers, AStepMayTakeAsLongAsAMessageCanSay) {
  v1::MakeResponse made;
  made.mutable_step_timeout()->set_seconds(std::numeric_limits<std::int64_t>::max());
  EXPECT_GT(Awaiting(made).deadline(), Clock::now() + std::chrono::hours(1));
}

TEST(Peers, NamesOfTypesAreShort) {
  const NdArray array(DType::kNumpy, {1}, std::string(8, '\0'), "M8[" + std::string(1'000'000, 's') + "]");
  v1::Value message;
  Encode(array, &message);
  EXPECT_THROW(DecodeSent(&message), Error);
}

TEST(Peers, AShapeBeyondTheMemoryIsNotFilledByNothing) {
  v1::Value message;
  Encode(NdArray(DType::kNumpy, {kHuge}, "", "<U1"), &message);
  EXPECT_THROW(DecodeSent(&message), Error);
}

TEST(Peers, RowsOfNothingAreNotCounted) {
  const auto box = std::make_shared<const Space>(Space::Uniform<float>({2}, -1, 1));
  EXPECT_FALSE(Space(Sequence{box, true}).Contains(NdArray(DType::kFloat32, {kHuge / 16, 0}, "")));
}

TEST(Peers, WhatIsNoArrayIsAnErrorOfTheLibrary) {
  v1::Value message;
  message.set_int_value(1);
  FillAllowance fills;
  EXPECT_THROW(DecodeArray(&message, {}, &fills), Error);
}

v1::Tensor Numbers(v1::DataType type, std::size_t bytes) {
  v1::Tensor tensor;
  tensor.set_data_type(type);
  tensor.add_shape(bytes / 8);
  tensor.set_data(std::string(bytes, '\1'));
  return tensor;
}

std::vector<v1::Space> SpacesOfALiar() {
  std::vector<v1::Space> spaces(9);
  spaces[0].mutable_discrete()->set_n(0);
  spaces[0].mutable_discrete()->set_data_type(v1::DATA_TYPE_INT64);
  spaces[1].mutable_discrete()->set_n(2);
  spaces[1].mutable_discrete()->set_data_type(static_cast<v1::DataType>(99));
  spaces[2].mutable_discrete()->set_n(2);
  spaces[2].mutable_discrete()->set_start(std::numeric_limits<std::int64_t>::max());
  spaces[2].mutable_discrete()->set_data_type(v1::DATA_TYPE_INT64);
  spaces[3].mutable_multi_binary()->add_shape(kHuge);
  *spaces[4].mutable_multi_discrete()->mutable_nvec() = Numbers(v1::DATA_TYPE_INT64, 16);
  *spaces[4].mutable_multi_discrete()->mutable_start() = Numbers(v1::DATA_TYPE_INT64, 8);
  *spaces[5].mutable_multi_discrete()->mutable_nvec() = Numbers(v1::DATA_TYPE_COMPLEX64, 8);
  *spaces[5].mutable_multi_discrete()->mutable_start() = Numbers(v1::DATA_TYPE_COMPLEX64, 8);
  *spaces[6].mutable_box()->mutable_low() = Numbers(v1::DATA_TYPE_COMPLEX64, 8);
  *spaces[6].mutable_box()->mutable_high() = Numbers(v1::DATA_TYPE_COMPLEX64, 8);
  spaces[7].mutable_text()->set_min_length(2);
  spaces[7].mutable_text()->set_max_length(1);
  spaces[8].mutable_one_of();
  return spaces;
}

TEST(Peers, SpacesThatAreNoneAreRefused) {
  for (v1::Space& space : SpacesOfALiar()) EXPECT_THROW(Decode(&space), Error) << space.DebugString();
}

}  // namespace
}  // namespace envwire::internal
