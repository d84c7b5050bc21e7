// The client's side of one session: which requests to send, and the meaning of answers. No I/O happens here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "envwire/v1/environment.pb.h"
#include "errors.h"
#include "session/retry_schedule.h"
#include "session/states.h"
#include "values/codec.h"

namespace envwire::internal {

using Kind = v1::InteractRequest::RequestCase;

// A request, to be sent unchanged as often as needed: a server compares repeated requests byte by byte.
struct Request {
  Kind kind = Kind::REQUEST_NOT_SET;
  std::string body;  // without the header, which says whose it is
};

// The answer to one request. The field of the same name is set, or `error`.
struct Answer {
  v1::InteractResponse message;
  Attachments attachments;
};

// What a driver does next.
struct Answered {};
struct SendAgain {};
struct Refused {
  Error error;
};
using Event = std::variant<Answered, SendAgain, Refused>;

class ClientSession {
 public:
  // `timeout` bounds the wait for every answer; absent for slightly more than the server's own limit.
  explicit ClientSession(std::optional<Seconds> timeout = std::nullopt);

  // Begins a Make, with a random id under which it can be repeated.
  const Request& Make(v1::MakeRequest request, Clock::time_point now);

  // Numbers a request and begins it. `Message` is ResetRequest, StepRequest and so on; its number is set here.
  template <class Message>
  const Request& Next(Kind kind, Message* message, Clock::time_point now) {
    const State state = Moved(state_, Move::kRequest);
    message->set_sequence(sequence_ + 1);
    request_.kind = kind;
    if (!message->SerializeToString(&request_.body)) {
      throw Error("INVALID_VALUE", "the request is larger than 2 GiB");
    }
    state_ = state;
    renumbered_ = false;
    ++sequence_;
    retries_.deadline = now + std::chrono::duration_cast<Clock::duration>(timeout_);
    return request_;
  }

  // Takes the answer to the pending request. It stays the caller's to read.
  Event Receive(const Answer& answer);
  // Takes a broken connection; returns the pause before the request is to be repeated, nothing when it is given up.
  std::optional<Seconds> ConnectionLost(const ConnectionError& error, Clock::time_point now);
  // Begins the pending request again, or the one in doubt, on a new connection.
  const Request& Repeat(Clock::time_point now);
  // Abandons the wait for the pending answer: its number is then in doubt.
  void GiveUp();
  // The request in doubt is not to be sent again: the next one gets its number.
  void TakeBack();
  void End();

  const Request& pending() const { return request_; }
  // A serialised SessionHeader as field 1 of a request; empty until the session is made.
  const std::string& header() const { return header_; }
  bool ended() const { return state_ == State::kEnded; }
  bool in_doubt() const { return state_ == State::kInDoubt; }
  bool waiting() const;
  Clock::time_point deadline() const { return retries_.deadline; }
  Seconds lease() const { return retries_.lease; }
  int resumed() const { return retries_.resumed; }
  std::uint64_t sequence() const { return sequence_; }
  State state() const { return state_; }

 private:
  Event ReceiveError(const v1::ErrorStatus& status);
  std::optional<std::uint64_t> NumberAfter(const Error& error) const;
  Event Renumber(std::uint64_t number);
  void TakeMade(const v1::MakeResponse& made);

  State state_ = State::kUnmade;
  std::uint64_t sequence_ = 0;
  std::string header_;
  Request request_;
  RetrySchedule retries_;
  Seconds timeout_;
  bool own_timeout_;
  bool renumbered_ = false;  // the present request
};

Seconds ToSeconds(const google::protobuf::Duration& duration);

// A SessionHeader as field 1 of a request.
std::string HeaderField(const std::string& session_id, const std::string& secret);

}  // namespace envwire::internal
