#include "client/driver.h"

namespace envwire::internal {

Driver::Driver(std::optional<Seconds> timeout, std::unique_ptr<Transport> transport)
    : session_(timeout), transport_(std::move(transport)) {}

v1::MakeResponse Driver::Make(v1::MakeRequest request) {
  Exchange(session_.Make(std::move(request), Clock::now()));
  return std::move(*answer_.message.mutable_make());
}

void Driver::Use(std::unique_ptr<Transport> transport, std::unique_ptr<Transport> control) {
  transport_ = std::move(transport);
  if (session_.lease().count() > 0) {
    keeper_ = std::make_unique<LeaseKeeper>(std::move(control), session_.header(), session_.lease());
    keeper_->set_held(transport_->holds_lease());
  }
}

void Driver::CheckOpen() const {
  if (session_.ended()) throw Error("SESSION_CLOSED", "this environment is closed; make another");
}

// Repeats the abandoned request, so that its number is used. Its answer is discarded.
void Driver::SettleDoubt(Kind next) {
  if (next == Kind::kClose) {
    session_.TakeBack();
    return;
  }
  try {
    Exchange(session_.Repeat(Clock::now()));
  } catch (const Error&) {
    if (session_.ended() || session_.in_doubt()) throw;
  }
}

// Sends a request, and repeats it until its answer arrives or the wait is abandoned.
void Driver::Exchange(const Request& first) {
  const Request* request = &first;
  for (;;) {
    try {
      transport_->Exchange(*request, session_.header(), session_.deadline(), &answer_);
    } catch (const ConnectionError& error) {
      if (keeper_) keeper_->set_held(false);
      const std::optional<Seconds> pause = session_.ConnectionLost(error, Clock::now());
      if (!pause) throw;
      std::this_thread::sleep_for(*pause);
      request = &session_.Repeat(Clock::now());
      continue;
    } catch (const Error& error) {
      // The server's own refusal, in a hello for instance, ends the session; a deadline leaves the number in doubt.
      if (EndsSession(error.reason()))
        session_.End();
      else if (session_.waiting())
        session_.GiveUp();
      throw;
    }
    const Event event = session_.Receive(answer_);
    if (keeper_) keeper_->set_held(transport_->holds_lease());
    if (const auto* refused = std::get_if<Refused>(&event)) throw Error(refused->error);
    if (std::holds_alternative<Answered>(event)) return;
    request = &session_.pending();
  }
}

}  // namespace envwire::internal
