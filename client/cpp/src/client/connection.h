// A session and the driver that drives it.
#pragma once

#include <memory>
#include <string>

#include "client/driver.h"
#include "envwire/options.hpp"

namespace envwire::internal {

class Connection {
 public:
  Connection(std::unique_ptr<Driver> driver, v1::MakeResponse made)
      : made_(std::move(made)), driver_(std::move(driver)) {}
  // Closes the session and ignores failures.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Makes an environment at `target` and opens the transport that `options` ask for.
  static std::unique_ptr<Connection> Open(const std::string& target, v1::MakeRequest request,
                                          const ConnectOptions& options);

  void Close();

  Driver& driver() { return *driver_; }
  v1::MakeResponse& made() { return made_; }

  // Messages that are reused for every step, together with their memory.
  v1::StepRequest step;

 private:
  v1::MakeResponse made_;
  std::unique_ptr<Driver> driver_;
};

v1::MakeRequest RequestFor(const std::string& id, const MakeOptions& options);

}  // namespace envwire::internal
