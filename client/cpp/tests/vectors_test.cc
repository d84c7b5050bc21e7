// The golden vectors of protos/vectors, read and written.
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "envwire/envwire.hpp"
#include "envwire/v1/direct.pb.h"
#include "errors.h"
#include "kit/faults.h"
#include "kit/hosting/np_random.h"
#include "kit/replay/digest.h"
#include "kit/request_fields.h"
#include "spaces/codec.h"
#include "transports/frames.h"
#include "values/codec.h"

namespace envwire {
namespace {

namespace pb = google::protobuf;

std::string Unhex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

// One vector: an object of a file of them.
class Vector {
 public:
  explicit Vector(const pb::Struct& fields) : fields_(fields.fields()) {}
  const pb::Value& at(const char* name) const { return fields_.at(name); }
  std::string name() const { return at("name").string_value(); }
  bool canonical() const { return at("canonical").bool_value(); }
  std::string bytes() const { return Unhex(at("hex").string_value()); }
  std::string holds() const { return at("holds").string_value(); }
  template <class Message>
  Message As() const {
    Message message;
    EXPECT_TRUE(message.ParseFromString(bytes())) << name();
    return message;
  }

 private:
  pb::Map<std::string, pb::Value> fields_;
};

std::vector<Vector> Vectors(const std::string& file) {
  std::ifstream input(std::string(ENVWIRE_VECTORS "/") + file + ".json");
  const std::string text{std::istreambuf_iterator<char>(input), std::istreambuf_iterator<char>()};
  pb::ListValue list;
  EXPECT_TRUE(pb::util::JsonStringToMessage(text, &list).ok()) << file;
  std::vector<Vector> vectors;
  for (const pb::Value& each : list.values()) vectors.emplace_back(each.struct_value());
  EXPECT_FALSE(vectors.empty()) << file;
  return vectors;
}

// Calls `visit` with every message inside of one, and with itself.
template <class Visit>
void Walk(pb::Message* message, const Visit& visit) {
  std::vector<const pb::FieldDescriptor*> fields;
  const pb::Reflection* reflection = message->GetReflection();
  reflection->ListFields(*message, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      Walk(reflection->MutableMessage(message, field), visit);
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
      Walk(reflection->MutableRepeatedMessage(message, field, i), visit);
    }
  }
  visit(message);
}

// A space without what this library does not tell: generators, and whether a MultiBinary was made from one number.
v1::Space Plain(v1::Space space) {
  Walk(&space, [](pb::Message* part) {
    if (auto* inner = dynamic_cast<v1::Space*>(part)) inner->clear_np_random();
    if (auto* bits = dynamic_cast<v1::MultiBinarySpace*>(part)) bits->set_flat(false);
  });
  return space;
}

TEST(Vectors, OfValuesAreReadAndWritten) {
  for (const Vector& vector : Vectors("values")) {
    const std::string written = EncodeValue(DecodeValue(vector.bytes()));
    EXPECT_EQ(written == vector.bytes(), vector.canonical()) << vector.name();
  }
}

TEST(Vectors, OfSpacesAreReadAndWritten) {
  for (const Vector& vector : Vectors("spaces")) {
    auto message = vector.As<v1::Space>();
    const Space space = internal::Decode(&message);
    v1::Space written;
    internal::Encode(space, &written);
    pb::util::MessageDifferencer differencer;
    std::string difference;
    differencer.ReportDifferencesToString(&difference);
    EXPECT_TRUE(differencer.Compare(Plain(vector.As<v1::Space>()), written)) << vector.name() << ": " << difference;
  }
}

TEST(Vectors, OfErrorsAreReadWithAllTheirDetails) {
  for (const Vector& vector : Vectors("errors")) {
    const auto status = vector.As<v1::ErrorStatus>();
    const Error error = internal::ErrorFrom(status);
    EXPECT_EQ(error.what(), status.message());
    EXPECT_EQ(error.reason(), vector.name() == "all details" ? "ENVIRONMENT_RAISED" : vector.name());
    if (vector.name() != "all details") continue;
    EXPECT_EQ(error.traceback.size(), 2U);
    EXPECT_EQ(error.output, "the last words\n");
    EXPECT_EQ(error.retry_after, 1.5);
    EXPECT_EQ(error.remote->type_name, "builtins.ValueError");
    EXPECT_EQ(error.remote->text, "no");
  }
}

TEST(Vectors, OfErrorsHaveTheStatusThatTheKitGivesThem) {
  for (const Vector& vector : Vectors("errors")) {
    const Error error = internal::ErrorFrom(vector.As<v1::ErrorStatus>());
    const v1::ErrorStatus ours = internal::StatusOf(error);
    if (internal::ErrorFrom(ours).reason() == "INTERNAL") continue;  // the kit has no such reason
    EXPECT_EQ(ours.code(), vector.As<v1::ErrorStatus>().code()) << vector.name();
    EXPECT_EQ(internal::ErrorFrom(ours).metadata, error.metadata) << vector.name();
  }
}

TEST(Vectors, OfMessagesAreWhatTheirJsonSays) {
  v1::HelloRequest::descriptor();  // so that the linker takes the messages of direct.proto
  for (const Vector& vector : Vectors("messages")) {
    const auto* type = pb::DescriptorPool::generated_pool()->FindMessageTypeByName(vector.holds());
    ASSERT_NE(type, nullptr) << vector.holds();
    const pb::Message* prototype = pb::MessageFactory::generated_factory()->GetPrototype(type);
    const std::unique_ptr<pb::Message> read(prototype->New());
    const std::unique_ptr<pb::Message> told(prototype->New());
    ASSERT_TRUE(read->ParseFromString(vector.bytes())) << vector.name();
    std::string json;
    pb::util::MessageToJsonString(vector.at("json"), &json);
    if (json.find("google.rpc") != std::string::npos) continue;  // types that this program does not have
    ASSERT_TRUE(pb::util::JsonStringToMessage(json, told.get()).ok()) << vector.name();
    EXPECT_EQ(told->SerializeAsString() == vector.bytes(), vector.canonical()) << vector.name();
    EXPECT_EQ(read->SerializeAsString(), vector.bytes()) << vector.name();
  }
}

TEST(Vectors, OfRequestsAreReadByTheKit) {
  for (const Vector& vector : Vectors("messages")) {
    if (vector.holds() != "envwire.v1.InteractRequest") continue;
    const auto request = vector.As<v1::InteractRequest>();
    const std::string bytes = vector.bytes();
    const internal::RequestView view = internal::Unwrap(bytes);
    EXPECT_EQ(view.kind, request.request_case()) << vector.name();
    if (view.kind != internal::Kind::kStep) continue;
    const internal::Headed headed = internal::TakeHeader(view.body);
    EXPECT_EQ(headed.header.value_or(v1::SessionHeader()).session_id(), request.step().header().session_id())
        << vector.name();
    EXPECT_EQ(internal::SequenceOf(headed.body), request.step().sequence()) << vector.name();
  }
}

// The message of a frame, which the header announces.
std::string MessageOf(const std::string& frame) {
  return frame.substr(internal::kFrameHeaderBytes, internal::GetNumber<std::uint32_t>(frame.data()));
}

TEST(Vectors, OfDigestsAreWhatTheKitAnswersToAReplay) {
  for (const Vector& vector : Vectors("digests")) {
    internal::RollingDigest digest;
    for (const pb::Value& each : vector.at("answers").list_value().values()) {
      v1::InteractResponse answer;
      ASSERT_TRUE(answer.ParseFromString(Unhex(each.string_value())));
      digest.Add(each.has_null_value() ? nullptr : &answer);
    }
    EXPECT_EQ(digest.Value(), Unhex(vector.at("digest").string_value())) << vector.name();
  }
}

TEST(Vectors, OfRequestFramesAreWritten) {
  for (const Vector& vector : Vectors("direct")) {
    if (vector.holds() != "InteractRequest") continue;
    const std::string message = MessageOf(vector.bytes());
    const internal::RequestView view = internal::Unwrap(message);
    std::string frame;
    internal::WriteRequestFrame({view.kind, std::string(view.body)}, &frame);
    EXPECT_EQ(frame, vector.bytes()) << vector.name();
  }
}

TEST(Vectors, AttachedElementsAreReadWhereTheyAre) {
  int attached = 0;
  for (const Vector& vector : Vectors("direct")) {
    const std::string frame = vector.bytes();
    const auto size = vector.holds() == "InteractResponse" ? internal::GetNumber<std::uint64_t>(frame.data() + 8) : 0;
    const auto slot = vector.holds() == "InteractResponse" ? internal::GetNumber<std::uint32_t>(frame.data() + 4) : 0;
    if (size == 0 || slot != 0) continue;
    v1::InteractResponse response;
    ASSERT_TRUE(response.ParseFromString(MessageOf(frame))) << vector.name();
    const std::string elements = frame.substr(frame.size() - size);
    const std::shared_ptr<const char> data(elements.data(), [](const char*) {});
    v1::Value* observation = response.has_reset() ? response.mutable_reset()->mutable_observation()
                                                  : response.mutable_step()->mutable_observation();
    const NdArray array = internal::Decode(observation, {data, elements.size()}).array();
    const auto& first = vector.at("arrays").list_value().values(0).struct_value().fields();
    EXPECT_EQ(array.bytes(), elements.data() + static_cast<std::size_t>(first.at("offset").number_value()));
    EXPECT_EQ(array.byte_size(), static_cast<std::size_t>(first.at("bytes").number_value()));
    EXPECT_EQ(DTypeName(array.dtype()), first.at("type").string_value());
    ++attached;
  }
  EXPECT_EQ(attached, 2);
}

TEST(Vectors, OfGeneratorsDrawWhatNumPyDraws) {
  for (const Vector& vector : Vectors("random")) {
    const auto state = vector.As<v1::RandomState>();
    internal::NpRandom random;
    if (state.bit_generator() != "PCG64") {
      EXPECT_THROW(random.Restore(state), Error) << vector.name();
      continue;
    }
    random.Restore(state);
    random.Create();
    v1::RandomMirror mirror;
    random.Mirror(&mirror);
    EXPECT_TRUE(pb::util::MessageDifferencer::Equals(mirror.np_random(), state)) << vector.name();
    const auto& draws = vector.at("draws").struct_value().fields();
    for (const pb::Value& drawn : draws.at("random()").list_value().values()) {
      EXPECT_EQ(random.generator().Random(), drawn.number_value()) << vector.name();
    }
    for (const pb::Value& drawn : draws.at("integers(0, 10)").list_value().values()) {
      EXPECT_EQ(static_cast<double>(random.generator().Integers(0, 10)), drawn.number_value()) << vector.name();
    }
  }
}

}  // namespace
}  // namespace envwire
