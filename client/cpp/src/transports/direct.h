// The direct channel: frames on a socket, straight to the process that holds the environment.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "envwire/v1/direct.pb.h"
#include "transports/frame_reader.h"
#include "transports/socket.h"
#include "transports/transport.h"

namespace envwire::internal {

// One open channel.
class DirectChannel {
 public:
  // Dials and says hello. Throws ConnectionError, or the server's Error when it refuses.
  DirectChannel(const std::string& address, const std::optional<Tls>& tls, const v1::HelloRequest& hello,
                Clock::time_point deadline);

  // Sends one frame and waits for the next.
  void Exchange(const std::string& frame, Clock::time_point deadline, Answer* answer);
  std::size_t max_message_bytes() const { return limit_; }

 private:
  // Uses the mailbox that came with the welcome, where one did.
  void UseMailbox(const v1::Welcome& welcome);
  void RequireNoMore() const;
  Attachments ReadAttachments(std::size_t size, Clock::time_point deadline);
  template <class Message>
  void ReadMessage(std::size_t size, Clock::time_point deadline, Message* message);

  std::unique_ptr<Socket> socket_;
  FrameReader reader_;
  std::size_t limit_ = 0;
};

// Carries requests on a direct channel, which is opened again when it broke; what is too large for it goes over gRPC.
class DirectTransport : public Transport {
 public:
  // `larger` carries what the channel does not take. Throws Error (UNAVAILABLE) when no address of the session answers.
  DirectTransport(const v1::MakeResponse& made, const std::string& dialled, std::optional<Tls> tls, bool unix_sockets,
                  std::unique_ptr<Transport> larger);

  const char* name() const override { return "direct"; }
  bool holds_lease() const override { return channel_ != nullptr; }
  void Exchange(const Request& request, const std::string& header, Clock::time_point deadline, Answer* answer) override;

 private:
  void Open(const std::string& address, Clock::time_point deadline);

  v1::HelloRequest hello_;
  std::string address_;
  std::optional<Tls> tls_;
  std::unique_ptr<Transport> larger_;
  std::unique_ptr<DirectChannel> channel_;
  std::string frame_;
};

}  // namespace envwire::internal
