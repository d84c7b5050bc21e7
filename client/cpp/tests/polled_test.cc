// Servers whose environments the thread of a main loop calls.
#include <gtest/gtest.h>

#include <future>
#include <set>
#include <thread>

#include "envwire/envwire.hpp"
#include "envwire/kit.hpp"

namespace envwire {
namespace {

using Threads = std::set<std::thread::id>;

// Notes which threads touch it.
class Noting : public Environment {
 public:
  explicit Noting(Threads* threads) : Environment(Discrete{2}, Discrete{2}), threads_(threads) { Note(); }
  ~Noting() override { Note(); }
  ResetResult Reset(const ResetContext&) override { return Note(), ResetResult{0}; }
  StepResult Step(const Value&) override { return Note(), StepResult{0}; }
  Value Render() override { return Note(), "frame"; }
  void Close() override { Note(); }

 private:
  void Note() { threads_->insert(std::this_thread::get_id()); }
  Threads* threads_;  // without a lock: one thread is the promise
};

ServeOptions Polled() {
  ServeOptions options;
  options.port = 0;
  options.polled = true;
  return options;
}

Server NotingServer(Threads* threads) {
  return Server({{"Noting-v0", [threads](const MakeContext&) { return std::make_unique<Noting>(threads); }}}, Polled());
}

// Polls until a client in another thread is done; returns how many requests were served.
std::size_t PollFor(Server& server, const std::function<void()>& client) {
  auto done = std::async(std::launch::async, client);
  std::size_t served = 0;
  while (done.wait_for(std::chrono::seconds(0)) != std::future_status::ready) served += server.Poll(0.01);
  done.get();
  return served;
}

TEST(Polled, OneThreadMakesCallsClosesAndDestroysAllEnvironments) {
  Threads threads;
  Server server = NotingServer(&threads);
  for (const TransportKind kind : {TransportKind::kUnary, TransportKind::kStream, TransportKind::kDirect}) {
    ConnectOptions connect;
    connect.transport = kind;
    const std::size_t served = PollFor(server, [&] {
      Env env = Env::Make(server.target(), "Noting-v0", {}, connect);
      env.Reset();
      env.Step(1);
      env.Render();
      env.Close();
    });
    EXPECT_GE(served, 5U);
  }
  EXPECT_EQ(threads, Threads{std::this_thread::get_id()});
  EXPECT_EQ(server.Poll(), 0U);
}

TEST(Polled, AServerThatIsDestroyedLetsWaitingClientsGo) {
  Threads threads;
  std::future<std::string> reason;
  {
    Server server = NotingServer(&threads);
    std::promise<void> stepping;
    reason = std::async(std::launch::async, [&stepping, target = server.target()]() -> std::string {
      Env env = Env::Make(target, "Noting-v0");
      env.Reset();
      stepping.set_value();
      try {
        for (;;) env.Step(1);
      } catch (const Error& error) {
        return error.reason();
      }
    });
    const std::future<void> reached = stepping.get_future();
    while (reached.wait_for(std::chrono::seconds(0)) != std::future_status::ready) server.Poll(0.01);
  }
  EXPECT_NE(reason.get(), "");
  EXPECT_EQ(threads, Threads{std::this_thread::get_id()});
}

TEST(Polled, AServerThatIsNotPolledSaysSo) {
  ServeOptions options = Polled();
  options.polled = false;
  Server server({}, options);
  EXPECT_THROW(server.Poll(), std::logic_error);
}

}  // namespace
}  // namespace envwire
