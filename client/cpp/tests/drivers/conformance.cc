// The driver for `envwire conformance --client`: lines of JSON in, lines of JSON out; docs/conformance.md describes
// them.
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <functional>
#include <iostream>
#include <map>
#include <thread>

#include "envwire/envwire.hpp"
#include "envwire/v1/values.pb.h"
#include "secured.h"

namespace {

using namespace envwire;  // NOLINT: a test program
namespace json = google::protobuf::util;

// The fields of one line of JSON.
using Fields = google::protobuf::Map<std::string, google::protobuf::Value>;

std::string Json(const google::protobuf::Message& message) {
  std::string text;
  if (!json::MessageToJsonString(message, &text).ok()) throw std::runtime_error("cannot be written as JSON");
  return text;
}

std::string Json(const std::string& text) {
  google::protobuf::Value value;
  value.set_string_value(text);
  return Json(value);
}

std::string Json(double number) {
  google::protobuf::Value value;
  if (number == number)
    value.set_number_value(number);  // NaN is null
  else
    value.set_null_value({});
  return Json(value);
}

std::string Json(bool value) { return value ? "true" : "false"; }

std::string Json(const Value& value) {
  v1::Value message;
  message.ParseFromString(EncodeValue(value));
  return Json(message);
}

Value ReadValue(const google::protobuf::Value& shown) {
  v1::Value message;
  if (!json::JsonStringToMessage(Json(shown), &message).ok()) throw std::runtime_error("not a value");
  return DecodeValue(message.SerializeAsString());
}

// Plays one line after another, with one environment at a time.
class Player {
 public:
  std::string Play(const Fields& fields) {
    const std::string& what = fields.at("do").string_value();
    const auto found = kPlays.find(what);
    if (found == kPlays.end()) return "{\"unsupported\": " + Json(what) + "}";
    try {
      return "{\"ok\": {" + (this->*found->second)(fields) + "}}";
    } catch (const Error& error) {
      return Failure(error.reason(), error.what());
    } catch (const std::exception& error) {
      return Failure("", error.what());
    }
  }

 private:
  static std::string Failure(const std::string& reason, const std::string& message) {
    return "{\"error\": {\"reason\": " + Json(reason) + ", \"message\": " + Json(message) + "}}";
  }

  Env& made() {
    if (!env_) throw Error("SESSION_CLOSED", "there is no environment");
    return *env_;
  }

  std::string Make(const Fields& fields) {
    Close(fields);
    static const std::map<std::string, TransportKind> kKinds = {{"auto", TransportKind::kAuto},
                                                                {"unary", TransportKind::kUnary},
                                                                {"stream", TransportKind::kStream},
                                                                {"direct", TransportKind::kDirect}};
    ConnectOptions connect;
    connect.transport = kKinds.at(fields.at("transport").string_value());
    if (fields.contains("ca")) connect.tls = Tls{Contents(fields.at("ca").string_value()), "", "", ""};
    MakeOptions options;
    if (fields.contains("lease")) options.lease = fields.at("lease").number_value();
    env_ = Env::Make(fields.at("target").string_value(), fields.at("env_id").string_value(), options, connect);
    return "";
  }

  std::string Reset(const Fields& fields) {
    std::optional<std::int64_t> seed;
    std::optional<Dict> options;
    if (fields.contains("seed")) seed = static_cast<std::int64_t>(fields.at("seed").number_value());
    if (fields.contains("options")) options = ReadValue(fields.at("options")).dict();
    const ResetResult reset = made().Reset(seed, options);
    return "\"observation\": " + Json(reset.observation) + ", \"info\": " + Json(Value(reset.info));
  }

  std::string Step(const Fields& fields) {
    const StepResult step = made().Step(ReadValue(fields.at("action")));
    return "\"observation\": " + Json(step.observation) + ", \"reward\": " + Json(step.reward) +
           ", \"terminated\": " + Json(step.terminated) + ", \"truncated\": " + Json(step.truncated) +
           ", \"info\": " + Json(Value(step.info));
  }

  std::string Wait(const Fields& fields) {
    std::this_thread::sleep_for(std::chrono::duration<double>(fields.at("seconds").number_value()));
    return "";
  }

  std::string Close(const Fields&) {
    if (std::optional<Env> last = std::exchange(env_, std::nullopt)) last->Close();
    return "";
  }

  using Method = std::string (Player::*)(const Fields&);
  static const std::map<std::string, Method> kPlays;
  std::optional<Env> env_;
};

const std::map<std::string, Player::Method> Player::kPlays = {{"make", &Player::Make},
                                                              {"reset", &Player::Reset},
                                                              {"step", &Player::Step},
                                                              {"wait", &Player::Wait},
                                                              {"close", &Player::Close}};

}  // namespace

int main() {
  Player player;
  for (std::string line; std::getline(std::cin, line);) {
    google::protobuf::Struct read;
    if (!json::JsonStringToMessage(line, &read).ok()) return 1;
    std::cout << player.Play(read.fields()) << std::endl;
  }
}
