// TLS on a connected socket, by OpenSSL.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "transports/socket.h"

namespace envwire::internal {

// Takes over `fd` and verifies the server's certificate for `host`, or for `tls.server_name`.
std::unique_ptr<Socket> ConnectTls(Descriptor fd, const Tls& tls, const std::string& host, Clock::time_point deadline);

// What a server shows and asks of its clients: `tls` holds its certificate and key, and with `root_certificates`
// clients have to show a certificate as well. Throws Error (UNAVAILABLE) for what cannot be read.
class ServerTls {
 public:
  explicit ServerTls(const Tls& tls);
  // Takes over `fd` and waits for the client's handshake.
  std::unique_ptr<Socket> Accept(Descriptor fd, Clock::time_point deadline) const;

 private:
  std::shared_ptr<SSL_CTX> context_;
};

}  // namespace envwire::internal
