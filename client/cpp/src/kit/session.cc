#include "kit/session.h"

#include <algorithm>
#include <map>

#include "kit/request_fields.h"

namespace envwire::internal {
namespace {

// Requests that wait behind the one that is served: each holds a thread.
constexpr int kMostWaiting = 64;
// The memory of an answer is used again up to here.
constexpr std::size_t kMostUsedAgain = std::size_t{1} << 20U;

// Counts a user of a resource for the lifetime of this object.
class Counted {
 public:
  explicit Counted(std::atomic<int>& count) : count_(count), before_(count++) {}
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  // How many there were before.
  int before() const { return before_; }

 private:
  std::atomic<int>& count_;
  int before_;
};

}  // namespace

void ThrowEnded(const std::string& reason) {
  static const std::map<std::string, const char*> kTexts = {
      {"SESSION_CLOSED", "the session was closed"},
      {"SESSION_EXPIRED", "the lease ran out, and the session was ended"},
      {"DRAINING", "the server stops, and the session was ended"}};
  throw Error(reason, kTexts.at(reason));
}

Session::Session(std::string id, std::string secret, std::unique_ptr<Hosted> hosted, Seconds lease,
                 std::size_t most_bytes, std::function<void(const Session&)> on_end)
    : id_(std::move(id)),
      secret_(std::move(secret)),
      lease_(lease),
      most_bytes_(most_bytes),
      on_end_(std::move(on_end)),
      hosted_(std::move(hosted)) {
  Touch();
}

ReplyPtr Session::Serve(const RequestView& request) {
  const Counted user(users_);
  if (user.before() > kMostWaiting) throw Error("CAPACITY_REACHED", "too many requests of this session wait");
  const std::lock_guard<std::mutex> lock(serving_);
  return ended() != nullptr ? AfterEnd(request) : ServeNumbered(request);
}

ReplyPtr Session::ServeOwn(const RequestView& request) {
  const std::lock_guard<std::mutex> lock(serving_);
  if (ended() != nullptr) return AfterEnd(request);
  const ReplyPtr reply = Served(request);
  if (request.kind == Kind::kClose) EndLocked("SESSION_CLOSED");
  return reply;
}

ReplyPtr Session::ServeNumbered(const RequestView& request) {
  const std::uint64_t sequence = SequenceOf(request.body);
  if (kept_ && sequence == last_) return Repeated(request);
  if (sequence != last_ + 1) RefuseGap(request, sequence);
  last_ = sequence;
  kept_kind_ = request.kind;
  kept_body_.assign(request.body);
  ReplyPtr reply = kept_ = Served(request);
  if (request.kind == Kind::kClose) EndLocked("SESSION_CLOSED");
  return reply;
}

// Closing what has ended succeeds; any other request is answered with the reason of the end.
ReplyPtr Session::AfterEnd(const RequestView& request) const {
  if (request.kind != Kind::kClose) ThrowEnded(ended());
  v1::InteractResponse closed;
  closed.mutable_close();
  return std::make_shared<Reply>(closed);
}

ReplyPtr Session::Repeated(const RequestView& request) {
  if (request.kind == kept_kind_ && request.body == kept_body_) return kept_;
  if (request.kind == Kind::kClose) EndLocked("SESSION_CLOSED");
  throw Error("SEQUENCE_REUSED", "request number " + std::to_string(last_) + " was another request");
}

// A close ends the session whatever its number.
void Session::RefuseGap(const RequestView& request, std::uint64_t sequence) {
  const std::string expected = std::to_string(last_ + 1);
  if (request.kind == Kind::kClose) EndLocked("SESSION_CLOSED");
  Error gap("SEQUENCE_GAP", "request number " + std::to_string(sequence) + " came where " + expected + " is next");
  gap.metadata["expected"] = expected;
  throw gap;
}

ReplyPtr Session::Served(const RequestView& request) {
  requests_.fetch_add(1, std::memory_order_relaxed);
  try {
    answer_.Clear();
    if (request.kind == Kind::kReplay) {
      const auto serve = [this](const RequestView& recorded, auto* answer) { ServeInto(recorded, answer); };
      replaying_.Apply(request.body, *hosted_, serve, answer_.mutable_replay());
    } else {
      ServeInto(request, &answer_);
    }
    if (request.kind == Kind::kStep) {
      steps_.fetch_add(std::max(1, answer_.step().steps_size()), std::memory_order_relaxed);
    }
    auto reply = std::make_shared<Reply>(answer_);
    if (reply->frame().size() > kMostUsedAgain) answer_ = v1::InteractResponse();
    return reply;
  } catch (const std::exception& thrown) {
    return ErrorReply(thrown, request.kind);
  }
}

void Session::ServeInto(const RequestView& request, v1::InteractResponse* answer) {
  hosted_->Serve(request.kind, request.body, answer);
  if (answer->ByteSizeLong() > most_bytes_) {
    throw Error("MESSAGE_TOO_LARGE", "the answer has " + std::to_string(answer->ByteSizeLong()) + " bytes, and " +
                                         std::to_string(most_bytes_) + " are allowed");
  }
}

void Session::End(const char* reason) {
  const std::lock_guard<std::mutex> lock(serving_);
  EndLocked(reason);
}

void Session::EndLocked(const char* reason) {
  if (ended() != nullptr) return;
  ended_.store(reason, std::memory_order_release);
  try {
    hosted_->Close();
  } catch (const std::exception&) {  // no client is waiting; the client of a requested Close already has its answer
  }
  hosted_.reset();
  kept_.reset();
  kept_body_.clear();
  on_end_(*this);
}

bool Session::Expired() const {
  const Clock::time_point used{Clock::duration(used_.load(std::memory_order_relaxed))};
  return ended() == nullptr && users_.load() == 0 && Clock::now() - used > lease_;
}

void Session::TakeChannel(std::function<void()> close) {
  const std::lock_guard<std::mutex> lock(channel_);
  if (close_channel_) close_channel_();
  close_channel_ = std::move(close);
}

}  // namespace envwire::internal
