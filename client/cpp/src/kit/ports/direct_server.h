// The direct port of a server: TCP or TLS, and an abstract Unix socket; a thread for each connection.
#pragma once

#include <atomic>
#include <list>
#include <mutex>
#include <thread>

#include "kit/service.h"
#include "transports/socket.h"
#include "transports/tls_socket.h"

namespace envwire::internal {

class DirectServer {
 public:
  // Listens, and makes the service offer its addresses. Throws Error (UNAVAILABLE) if the port cannot be bound.
  DirectServer(Service& service, const ServeOptions& options);
  // Ends all connections.
  ~DirectServer();
  DirectServer(const DirectServer&) = delete;
  DirectServer& operator=(const DirectServer&) = delete;

 private:
  struct Connection {
    std::thread thread;
    std::shared_ptr<Socket> socket;  // while it is open
    bool over = false;
  };

  void Accept();
  void AcceptFrom(int listener, bool is_tcp);
  void Pause();
  void Serve(Connection* connection, Descriptor fd, bool is_tcp);
  std::shared_ptr<Socket> Opened(Descriptor fd, bool is_tcp, Clock::time_point deadline) const;
  // Notes the socket of a connection. Throws Error (DRAINING) when this server is ending.
  void Note(Connection* connection, std::shared_ptr<Socket> socket);
  void JoinThoseThatAreOver();

  Service& service_;
  const ServeOptions& options_;
  const std::string name_;
  std::optional<ServerTls> tls_;
  Descriptor tcp_;
  Descriptor unix_;
  Descriptor wake_;
  std::atomic<int> silent_{0};  // connections that are not authenticated yet, or were refused
  std::mutex mutex_;
  bool ending_ = false;
  std::list<Connection> connections_;
  std::thread acceptor_;
};

}  // namespace envwire::internal
