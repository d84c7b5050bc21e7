// The service over gRPC: unary calls and the stream, as the bytes that came.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "kit/service.h"

namespace envwire::internal {

class GrpcServer {
 public:
  // Listens. Throws Error (UNAVAILABLE) where the port cannot be had.
  GrpcServer(Service& service, const ServeOptions& options);
  // Cancels what is under way.
  ~GrpcServer();
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

  int port() const { return port_; }
  // Health checks are told that this server stops.
  void Drain();

 private:
  class Methods;
  std::unique_ptr<Methods> methods_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace envwire::internal
