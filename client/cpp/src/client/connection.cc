#include "client/connection.h"

#include <algorithm>
#include <cmath>

#include "transports/addresses.h"
#include "transports/direct.h"
#include "transports/grpc.h"

namespace envwire::internal {
namespace {

// Time in which an advertised address has to answer; otherwise the session stays at the address that made it.
constexpr std::chrono::seconds kAdvertised{1};

// The longest duration of protobuf, some 10,000 years.
constexpr double kLongest = 315576000000;

double Checked(const char* name, double seconds) {
  if (!(seconds >= 0)) {
    throw Error("INVALID_ARGUMENT", std::string(name) + " is " + std::to_string(seconds) + ": give 0 seconds or more");
  }
  return std::min(seconds, kLongest);
}

std::optional<Seconds> TimeoutOf(const ConnectOptions& options) {
  if (!options.timeout) return std::nullopt;
  return Seconds(Checked("timeout", *options.timeout));
}

// A connection to the address that the server's operator advertised, if the same server answers there.
std::shared_ptr<GrpcConnection> Advertised(const v1::MakeResponse& made, const std::string& target,
                                           const ConnectOptions& options) {
  if (made.address() == target || made.incarnation().empty() || !IsHostPort(made.address())) return nullptr;
  try {
    auto there = std::make_shared<GrpcConnection>(made.address(), options);
    Answer answer;
    UnaryTransport(there).Exchange({Kind::kGetServerInfo, ""}, "", Clock::now() + kAdvertised, &answer);
    if (answer.message.get_server_info().incarnation() == made.incarnation()) return there;
  } catch (const Error&) {  // nobody there, or not in time, or the token may not go there
  }
  return nullptr;
}

std::unique_ptr<Transport> TransportFor(const v1::MakeResponse& made, const std::shared_ptr<GrpcConnection>& server,
                                        const ConnectOptions& options) {
  const TransportKind kind = options.transport;
  if (kind == TransportKind::kUnary) return std::make_unique<UnaryTransport>(server);
  if (kind == TransportKind::kStream) return std::make_unique<StreamTransport>(server);
  try {
    return std::make_unique<DirectTransport>(made, server->target(), options.tls, kind != TransportKind::kDirectTcp,
                                             std::make_unique<UnaryTransport>(server));
  } catch (const Error&) {
    if (kind != TransportKind::kAuto) throw;
    return std::make_unique<StreamTransport>(server);
  }
}

}  // namespace

v1::MakeRequest RequestFor(const std::string& id, const MakeOptions& options) {
  v1::MakeRequest request;
  request.set_env_id(id);
  request.set_library(options.library);
  if (options.render_mode) request.set_render_mode(*options.render_mode);
  if (!options.kwargs.empty()) Encode(options.kwargs, request.mutable_kwargs());
  for (const Wrapper& wrapper : options.wrappers) {
    v1::WrapperRequest* each = request.add_wrappers();
    each->set_name(wrapper.name);
    if (!wrapper.kwargs.empty()) Encode(wrapper.kwargs, each->mutable_kwargs());
  }
  if (options.lease) {
    const double lease = Checked("lease", *options.lease);
    const double whole = std::floor(lease);
    request.mutable_lease()->set_seconds(static_cast<std::int64_t>(whole));
    request.mutable_lease()->set_nanos(static_cast<std::int32_t>((lease - whole) * 1e9));
  }
  return request;
}

std::unique_ptr<Connection> Connection::Open(const std::string& target, v1::MakeRequest request,
                                             const ConnectOptions& options) {
  SplitAddress(target);  // refuses a target without a port before any connection is opened
  auto server = std::make_shared<GrpcConnection>(target, options);
  auto driver = std::make_unique<Driver>(TimeoutOf(options), std::make_unique<UnaryTransport>(server));
  v1::MakeResponse made = driver->Make(std::move(request));
  if (auto home = Advertised(made, target, options)) server = std::move(home);
  auto connection = std::make_unique<Connection>(std::move(driver), std::move(made));
  connection->driver_->Use(TransportFor(connection->made_, server, options), std::make_unique<UnaryTransport>(server));
  return connection;
}

void Connection::Close() {
  if (driver_->session().ended()) return;
  v1::CloseRequest request;
  try {
    driver_->Serve(Kind::kClose, &request);
  } catch (const Error& error) {
    driver_->session().End();
    driver_->Stop();
    if (!EndsSession(error.reason()) && error.reason() != "UNAVAILABLE") throw;
  }
  driver_->Stop();
}

Connection::~Connection() {
  try {
    Close();
  } catch (...) {  // a session that cannot be closed ends with its lease
  }
}

}  // namespace envwire::internal
