// What a session hosts, called only by the thread of the program's main loop.
#pragma once

#include <exception>
#include <utility>

#include "kit/hosting/hosted.h"
#include "kit/main_loop.h"

namespace envwire::internal {

class HostedInLoop : public Hosted {
 public:
  // The loop outlives it.
  HostedInLoop(std::unique_ptr<Hosted> hosted, MainLoop& loop) : hosted_(std::move(hosted)), loop_(loop) {}
  ~HostedInLoop() override {
    try {
      loop_.Run([this] { hosted_.reset(); });
    } catch (const std::exception&) {  // the loop has ended, and another thread destroys it
    }
  }

  void Serve(Kind kind, std::string_view body, v1::InteractResponse* answer) override {
    loop_.Run([&] { hosted_->Serve(kind, body, answer); });
  }
  void Close() override {
    loop_.Run([this] { hosted_->Close(); });
  }
  void TakePart(const MemberStarts& starts, std::uint64_t position) override {
    loop_.Run([&] { hosted_->TakePart(starts, position); });
  }
  void Describe(v1::MakeResponse* made) override {
    loop_.Run([&] { hosted_->Describe(made); });
  }

 private:
  std::unique_ptr<Hosted> hosted_;
  MainLoop& loop_;
};

}  // namespace envwire::internal
