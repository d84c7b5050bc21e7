// The service over gRPC: unary calls and the stream, on unparsed bytes.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "kit/service.h"

namespace envwire::internal {

class GrpcServer {
 public:
  // Listens. Throws Error (UNAVAILABLE) if the port cannot be bound.
  GrpcServer(Service& service, const ServeOptions& options);
  // Cancels calls in progress.
  ~GrpcServer();
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

  int port() const { return port_; }
  // Makes health checks report that this server stops.
  void Drain();

 private:
  class Methods;
  std::unique_ptr<Methods> methods_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace envwire::internal
