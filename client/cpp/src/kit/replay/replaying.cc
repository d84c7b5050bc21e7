#include "kit/replay/replaying.h"

#include <set>

#include "kit/faults.h"
#include "kit/request_fields.h"
#include "transports/methods.h"

namespace envwire::internal {
namespace {

// A recording that takes longer is answered in parts, so that no deadline ends the session over it.
constexpr std::chrono::seconds kPart{2};

RequestView ViewOf(const std::string& recorded) {
  static const std::set<Kind> kRecorded = {Kind::kReset,      Kind::kStep,      Kind::kRender,      Kind::kSetAttribute,
                                           Kind::kCallMethod, Kind::kSaveState, Kind::kRestoreState};
  RequestView view;
  try {
    view = Unwrap(recorded);
  } catch (const Error& malformed) {
    throw Error("INVALID_VALUE", std::string("a recorded request cannot be read: ") + malformed.what());
  }
  if (kRecorded.count(view.kind) == 0) {
    throw Error("INVALID_VALUE", std::string(kMethods[static_cast<std::size_t>(view.kind)]) + " is not recorded");
  }
  return view;
}

}  // namespace

void Replaying::Apply(std::string_view body, Hosted& hosted, const Serve& serve, v1::ReplayResponse* answer) {
  const auto request = Parsed<v1::ReplayRequest>(body);
  const Clock::time_point until = Clock::now() + kPart;
  if (request.position() == 0) *this = Replaying();
  if (request.position() != digest_.count()) {
    throw Error("INVALID_VALUE",
                "a recording goes on at " + std::to_string(digest_.count()) + ", or begins again at 0");
  }
  if (request.member_starts_size() > 0) starts_.clear();
  for (const v1::MemberStart& start : request.member_starts()) starts_[start.member()] = start;
  const std::set<std::uint64_t> unseen(request.unseen().begin(), request.unseen().end());
  for (const std::string& recorded : request.requests()) {
    ServeNext(recorded, unseen.count(digest_.count()) == 0, hosted, serve);
    if (Clock::now() > until) break;
  }
  answer->set_served(digest_.count());
  for (std::string& each : digest_.TakeCheckpoints()) answer->add_checkpoints(std::move(each));
  answer->set_digest(digest_.Value());
}

void Replaying::ServeNext(const std::string& recorded, bool seen, Hosted& hosted, const Serve& serve) {
  const RequestView request = ViewOf(recorded);
  hosted.TakePart(starts_, digest_.count());
  v1::InteractResponse response;
  try {
    serve(request, &response);
  } catch (const std::exception& thrown) {
    *response.mutable_error() = StatusOf(thrown, request.kind);
  }
  hosted.TakePart({}, 0);
  digest_.Add(seen ? &response : nullptr);
}

}  // namespace envwire::internal
