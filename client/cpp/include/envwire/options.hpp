// Options of a connection and of an environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "envwire/value.hpp"

namespace envwire {

// PEM texts. Without `root_certificates` those of the system are trusted.
struct Tls {
  std::string root_certificates;
  std::string certificate_chain;  // the client's own, if the server requires one
  std::string private_key;
  std::string server_name;  // the name in the server's certificate; empty for the host of the target
};

enum class TransportKind {
  kAuto,       // the direct channel, or the stream if there is none
  kDirect,     // the direct channel, or an error
  kDirectTcp,  // the direct channel, without Unix sockets
  kStream,     // one gRPC stream
  kUnary,      // one gRPC call for each request
};

struct ConnectOptions {
  TransportKind transport = TransportKind::kAuto;
  std::optional<Tls> tls;
  std::string token;
  // Seconds to wait for any answer; absent for slightly more than the server's own limit.
  std::optional<double> timeout;
  // Whether the token may be sent to other machines without TLS, where anyone on the way can read it.
  bool insecure = false;
};

struct Wrapper {
  std::string name;
  Dict kwargs = {};
};

struct MakeOptions {
  std::optional<std::string> render_mode;
  Dict kwargs = {};
  std::vector<Wrapper> wrappers = {};  // innermost first
  std::optional<double> lease;         // seconds that the session shall outlive its connection
  std::string library;                 // the library to take the environment from; empty for any
};

struct VectorOptions : MakeOptions {
  std::string vectorization_mode;  // "sync" or "vector_entry_point"; empty for "sync"
  std::string autoreset_mode;      // "NEXT_STEP", "SAME_STEP" or "DISABLED"; empty for "NEXT_STEP"
};

}  // namespace envwire
