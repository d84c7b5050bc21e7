#include "kit/replay/digest.h"

#include "errors.h"

namespace envwire::internal {
namespace {

namespace pb = google::protobuf;

constexpr std::uint64_t kCheckpoint = 64;
constexpr std::size_t kLarge = 4096;
// Entry in which wrappers report the duration of an episode.
constexpr char kTimed[] = "episode";

// Removes values that differ between two runs of the same environment, and extracts the elements of large tensors.
void Neutralise(pb::Message* message, std::vector<std::string>* taken) {
  if (auto* tensor = dynamic_cast<v1::Tensor*>(message)) {
    if (tensor->data().size() < kLarge) return;
    taken->push_back(std::move(*tensor->mutable_data()));
    return tensor->clear_data();
  }
  if (auto* opaque = dynamic_cast<v1::Opaque*>(message)) return opaque->clear_text();
  const pb::Reflection* reflection = message->GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      Neutralise(reflection->MutableMessage(message, field), taken);
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
      Neutralise(reflection->MutableRepeatedMessage(message, field, i), taken);
    }
  }
}

// Of resets and steps.
template <class Answer>
void LeaveOutTimesAndSeed(Answer* answer) {
  if (answer->has_random()) answer->mutable_random()->clear_np_random_seed();
  if (!answer->has_info()) return;
  auto* entries = answer->mutable_info()->mutable_entries();
  for (int i = entries->size() - 1; i >= 0; --i) {
    if (entries->Get(i).name() == kTimed) entries->DeleteSubrange(i, 1);
  }
}

void LeaveOutWarnings(v1::InteractResponse* answer) {
  const pb::FieldDescriptor* kind =
      answer->GetReflection()->GetOneofFieldDescriptor(*answer, answer->GetDescriptor()->FindOneofByName("response"));
  pb::Message* body = answer->GetReflection()->MutableMessage(answer, kind);
  const pb::FieldDescriptor* warnings = body->GetDescriptor()->FindFieldByName("warnings");
  if (warnings != nullptr) body->GetReflection()->ClearField(body, warnings);
}

// The parts that count; the length of the first one does as well.
std::vector<std::string> Digested(v1::InteractResponse* answer) {
  if (answer->has_error()) return {ErrorFrom(answer->error()).reason()};
  LeaveOutWarnings(answer);
  if (answer->has_reset()) LeaveOutTimesAndSeed(answer->mutable_reset());
  if (answer->has_step()) LeaveOutTimesAndSeed(answer->mutable_step());
  std::vector<std::string> parts(1);
  Neutralise(answer, &parts);
  parts.front() = answer->SerializeAsString();
  return parts;
}

}  // namespace

void RollingDigest::Add(v1::InteractResponse* answer) {
  if (answer != nullptr) {
    const std::vector<std::string> parts = Digested(answer);
    const std::uint64_t length = parts.front().size();
    hash_.Update({reinterpret_cast<const char*>(&length), sizeof(length)});
    for (const std::string& part : parts) hash_.Update(part);
  }
  if (++count_ % kCheckpoint == 0) checkpoints_.push_back(Value());
}

}  // namespace envwire::internal
