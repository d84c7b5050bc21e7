// The service: every request of the contract, over every transport.
#pragma once

#include "kit/maker.h"
#include "kit/request_fields.h"

namespace envwire::internal {

class Service {
 public:
  // `loop` calls the environments, if there is one.
  Service(Registry registry, const ServeOptions& options, MainLoop* loop = nullptr);

  // Serves a request with its header; errors are in the answer.
  ReplyPtr Serve(const RequestView& request, const Used& used);

  SessionTable& sessions() { return sessions_; }
  Maker& maker() { return maker_; }

 private:
  ReplyPtr Answered(const RequestView& request, const Used& used);
  ReplyPtr List() const;
  ReplyPtr Info();
  ReplyPtr RenewLease(const SessionPtr& session);
  static ReplyPtr Stats(const SessionPtr& session);

  const ServeOptions& options_;
  const std::string incarnation_;
  SessionTable sessions_;
  Maker maker_;
};

}  // namespace envwire::internal
