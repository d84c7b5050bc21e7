// Connections of clients that the server lends this program, which it runs for one session: a step then passes through
// no other process. docs/server.md, "A program for one session".
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kit/session.h"
#include "transports/mailbox_socket.h"

namespace envwire::internal {

// What a frame of the server holds, in the place of a slot.
enum class Sent : std::uint32_t { kRequest = 0, kOwnRequest = 1, kLoan = 2, kRecall = 3 };

class LentConnections {
 public:
  // Takes over the descriptors that the server named in the environment, out of which it removes the names; null if
  // there are none. `channel` is that to the server, which becomes readable when it wants a connection back.
  static std::unique_ptr<LentConnections> FromEnvironment(int channel);
  ~LentConnections();
  LentConnections(const LentConnections&) = delete;
  LentConnections& operator=(const LentConnections&) = delete;

  // Says that this program takes connections.
  static void Describe(v1::MakeResponse* made);
  // Serves a connection up to the first request that needs the server, an answer that the client does not read soon,
  // its end, or the server's wish to have it back. Returns the message with which it is given back. `loan` is the
  // message that came with it.
  std::string Serve(Session& session, std::string_view loan);

 private:
  struct Counts;
  class Counting;
  struct Left;

  LentConnections(int channel, Descriptor connections, Counts* counts);
  Left ServeRequests(Session& session, MailboxSocket& socket, std::size_t limit);

  const int channel_;
  Descriptor connections_;
  Counts* counts_;
};

}  // namespace envwire::internal
