// The life of a session as its client knows it: every state, and every move between states, in this one table.
//
// It equals the Python client's table. An abandoned request leaves its number in doubt: the request is sent once
// more before the next one, so that numbers never run ahead of answers.
#pragma once

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace envwire::internal {

enum class State {
  kUnmade,      // nothing was sent yet
  kMaking,      // the Make is sent
  kMakeBroken,  // as kMaking, but the connection broke: the Make is to be repeated
  kReady,       // every numbered request was answered
  kAwaiting,    // a numbered request is sent, its answer is to come
  kBroken,      // as kAwaiting, but the connection broke: the request is to be repeated
  kInDoubt,     // as kBroken, but nobody waits for the answer any more
  kEnded,       // closed, or no more; gone for good
};

enum class Move {
  kMake,
  kMade,
  kRequest,
  kAnswer,
  kRenumber,  // the server asks for another number
  kCut,
  kRepeat,
  kGiveUp,    // nobody waits for the answer any more
  kTakeBack,  // the request is not to be sent again
  kEnd,
};

constexpr std::size_t kStates = 8;
constexpr std::size_t kMoves = 10;
constexpr State kNever = static_cast<State>(-1);

// clang-format off
constexpr std::array<std::array<State, kMoves>, kStates> kTransitions = {{
    //                 make             made            request           answer          renumber          cut                 repeat            give up          take back       end
    /* unmade      */ {State::kMaking,  kNever,         kNever,           kNever,         kNever,           kNever,             kNever,           kNever,          kNever,         State::kEnded},
    /* making      */ {kNever,          State::kReady,  kNever,           kNever,         kNever,           State::kMakeBroken, kNever,           kNever,          kNever,         State::kEnded},
    /* make broken */ {kNever,          kNever,         kNever,           kNever,         kNever,           kNever,             State::kMaking,   kNever,          kNever,         State::kEnded},
    /* ready       */ {kNever,          kNever,         State::kAwaiting, kNever,         kNever,           kNever,             kNever,           kNever,          kNever,         State::kEnded},
    /* awaiting    */ {kNever,          kNever,         kNever,           State::kReady,  State::kAwaiting, State::kBroken,     kNever,           State::kInDoubt, kNever,         State::kEnded},
    /* broken      */ {kNever,          kNever,         kNever,           kNever,         kNever,           kNever,             State::kAwaiting, State::kInDoubt, kNever,         State::kEnded},
    /* in doubt    */ {kNever,          kNever,         kNever,           kNever,         kNever,           kNever,             State::kAwaiting, kNever,          State::kReady,  State::kEnded},
    /* ended       */ {kNever,          kNever,         kNever,           kNever,         kNever,           kNever,             kNever,           kNever,          kNever,         kNever},
}};
// clang-format on

// Returns the state after a move. Throws std::logic_error for a move out of turn: a fault of this library.
inline State Moved(State state, Move move) {
  const State next = kTransitions[static_cast<std::size_t>(state)][static_cast<std::size_t>(move)];
  if (next == kNever) {
    throw std::logic_error("move " + std::to_string(static_cast<int>(move)) + " cannot follow state " +
                           std::to_string(static_cast<int>(state)));
  }
  return next;
}

}  // namespace envwire::internal
