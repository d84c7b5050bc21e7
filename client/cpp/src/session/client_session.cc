#include "session/client_session.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "random/secrets.h"

namespace envwire::internal {
namespace {

// Longer than a server gives a Make by default.
constexpr Seconds kMakeTimeout{180.0};
// Beyond the server's own limit, whose error says more than a timeout here.
constexpr Seconds kSlack{10.0};
constexpr std::size_t kRequestIdBytes = 16;
// Field 2 of every numbered request.
constexpr std::uint32_t kSequenceTag = 2U << 3U;

// Returns a request under another number. Messages are serialised with fields in order, so that the number is the first
// field of one without a header.
std::string Renumbered(const std::string& body, std::uint64_t sequence) {
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const std::uint8_t*>(body.data()),
                                               static_cast<int>(body.size()));
  std::uint64_t old = 0;
  if (input.ReadTag() != kSequenceTag || !input.ReadVarint64(&old)) {
    throw std::logic_error("a numbered request does not begin with its number");
  }
  std::string out;
  {
    google::protobuf::io::StringOutputStream stream(&out);
    google::protobuf::io::CodedOutputStream output(&stream);
    output.WriteTag(kSequenceTag);
    output.WriteVarint64(sequence);
  }
  return out + body.substr(static_cast<std::size_t>(input.CurrentPosition()));
}

}  // namespace

Seconds ToSeconds(const google::protobuf::Duration& duration) {
  return std::min(Seconds(static_cast<double>(duration.seconds()) + duration.nanos() * 1e-9), kForever);
}

std::string HeaderField(const std::string& session_id, const std::string& secret) {
  v1::CloseRequest request;  // any request: the header is field 1 of each
  request.mutable_header()->set_session_id(session_id);
  request.mutable_header()->set_secret(secret);
  return request.SerializeAsString();
}

ClientSession::ClientSession(std::optional<Seconds> timeout)
    : timeout_(std::min(timeout.value_or(kMakeTimeout), kForever)), own_timeout_(timeout.has_value()) {}

const Request& ClientSession::Make(v1::MakeRequest request, Clock::time_point now) {
  state_ = Moved(state_, Move::kMake);
  request.set_request_id(RandomBytes(kRequestIdBytes));
  request_ = {Kind::kMake, request.SerializeAsString()};
  retries_.deadline = now + std::chrono::duration_cast<Clock::duration>(timeout_);
  return request_;
}

bool ClientSession::waiting() const {
  return state_ == State::kMaking || state_ == State::kMakeBroken || state_ == State::kAwaiting ||
         state_ == State::kBroken;
}

Event ClientSession::Receive(const Answer& answer) {
  if (answer.message.has_error()) return ReceiveError(answer.message.error());
  if (state_ == State::kMaking) {
    TakeMade(answer.message.make());
    return Answered{};
  }
  state_ = Moved(state_, Move::kAnswer);
  retries_.Answered();
  if (request_.kind == Kind::kClose) End();
  return Answered{};
}

void ClientSession::TakeMade(const v1::MakeResponse& made) {
  state_ = Moved(state_, Move::kMade);
  retries_.Forget();
  retries_.lease = ToSeconds(made.lease());
  // A gateway that is gone says nothing of the session behind it.
  const auto& able = made.capabilities();
  if (std::find(able.begin(), able.end(), "relayed") != able.end()) retries_.refused_span = retries_.lease;
  header_ = HeaderField(made.session_id(), made.secret());
  if (!own_timeout_) {
    const Seconds step = ToSeconds(made.step_timeout());
    timeout_ = (step.count() > 0 ? step : kMakeTimeout) + kSlack;
  }
}

Event ClientSession::ReceiveError(const v1::ErrorStatus& status) {
  Error error = ErrorFrom(status);
  const bool misnumbered = error.reason() == "SEQUENCE_GAP" || error.reason() == "SEQUENCE_REUSED";
  if (state_ == State::kAwaiting && misnumbered && !std::exchange(renumbered_, true)) {
    if (const auto number = NumberAfter(error)) return Renumber(*number);
  }
  if (state_ == State::kMaking) {
    End();
  } else {
    state_ = Moved(state_, Move::kAnswer);
    retries_.Answered();
    if (EndsSession(error.reason()) || request_.kind == Kind::kClose) End();
  }
  return Refused{std::move(error)};
}

// The number that the server asks for; one that is used is followed by the next. Nothing where it asks for no number.
std::optional<std::uint64_t> ClientSession::NumberAfter(const Error& error) const {
  const auto expected = error.metadata.find("expected");
  if (expected == error.metadata.end()) return sequence_ + 1;
  const std::string& text = expected->second;
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// This happens after a request that was refused before it reached the session. Once for each request: a server that
// goes on asking for others would be asked for ever.
Event ClientSession::Renumber(std::uint64_t number) {
  state_ = Moved(state_, Move::kRenumber);
  sequence_ = number;
  request_.body = Renumbered(request_.body, sequence_);
  return SendAgain{};
}

std::optional<Seconds> ClientSession::ConnectionLost(const ConnectionError& error, Clock::time_point now) {
  state_ = Moved(state_, Move::kCut);
  const std::optional<Seconds> pause = retries_.Failed(now, error.refused, error.connected);
  if (!pause) GiveUp();
  return pause;
}

const Request& ClientSession::Repeat(Clock::time_point now) {
  if (in_doubt()) retries_.deadline = now + std::chrono::duration_cast<Clock::duration>(timeout_);
  state_ = Moved(state_, Move::kRepeat);
  return request_;
}

void ClientSession::GiveUp() {
  if (state_ == State::kMaking || state_ == State::kMakeBroken) {
    End();
  } else {
    state_ = Moved(state_, Move::kGiveUp);
  }
  retries_.Forget();
}

void ClientSession::TakeBack() {
  state_ = Moved(state_, Move::kTakeBack);
  --sequence_;
}

void ClientSession::End() {
  if (!ended()) state_ = Moved(state_, Move::kEnd);
}

}  // namespace envwire::internal
