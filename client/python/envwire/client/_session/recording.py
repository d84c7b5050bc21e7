"""Records the requests of an environment and digests of its answers, for replay.

Only requests that change an environment are recorded, in two logs. The long log begins at the last reset with a seed,
preceded by all earlier requests that set attributes or called methods. The short log begins at the last reset, if the
state of the environment's generator at that moment is known, preceded by the requests whose effects outlast an episode:
the seeded reset, attributes and methods. The short log repeats one episode, however long the run was. If the
environment keeps other state from episode to episode, the short log's digest differs, and the long log is replayed.
If a server reports the resets of a vector environment's members, a replay repeats one episode of each member.

Chunks of actions are recorded as single steps, so that a replay does not depend on how they were split.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from envwire.client._session.request_log import (
    KEPT,
    MemberRequestLog,
    RequestLog,
    outlasts_episodes,
)
from envwire.client.errors import ReplayError
from envwire.codec import Reason, decode_fault, decode_value, envwire_family
from envwire.codec.digests import digested, digested_message
from envwire.envs.type_guards import is_tuple_or_list
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import spaces_pb2
from envwire.wire.envelope import REQUESTS, RESPONSES, answers_chunk
from envwire.wire.frames import Reply

#: The option that says which members of a vector environment are reset.
RESET_MASK = "reset_mask"
#: Suffix of Gymnasium's render modes that collect frames. Rendering then empties the list: it changes the environment.
_COLLECTING = "_list"

#: Longer answers are those of steps that were taken.
_SHORT_BYTES = 16

_RECORDED = frozenset({"reset", "step", "render", "save_state", "restore_state", *KEPT})
#: Reasons of errors after which a request is recorded: it reached the environment, or a replay refuses it again.
_SERVED = frozenset(
    {
        Reason.ATTRIBUTE_MISSING,
        Reason.ATTRIBUTE_NOT_ALLOWED,
        Reason.ENVIRONMENT_RAISED,
        Reason.INTERNAL,
        Reason.INVALID_ACTION,
        Reason.INVALID_VALUE,
        Reason.MESSAGE_TOO_LARGE,
        Reason.RESET_NEEDED,
        Reason.UNSUPPORTED,
    }
)


#: Requests that bring a new environment into the state at the end of a recording.
Replayable: TypeAlias = RequestLog | MemberRequestLog


class Loss(NamedTuple):
    """The loss of a session.

    Attributes:
        epoch: Number of losses so far, this one included.
        reason: Why, as a reason of docs/protocol.md; empty if the server did not answer.
    """

    epoch: int
    reason: str


NO_LOSS = Loss(0, "")


class Recording:
    """The recording of one environment, over all its sessions.

    Args:
        limit: Most requests in a log.
        render_mode: The environment's render mode.

    Attributes:
        rooted: Whether it begins with a seed, or with a known state of the generator.
    """

    def __init__(self, limit: int, render_mode: str | None = None) -> None:
        self._limit = limit
        self._renders = render_mode is not None and render_mode.endswith(_COLLECTING)
        self._losses = 0
        self.begin()

    def lost(self, reason: str) -> Loss:
        """Counts a session that was lost, or is left because its server is about to stop."""
        self._losses += 1
        return Loss(self._losses, reason)

    def begin(self) -> None:
        """Starts over: the environment is a new one."""
        self._long = RequestLog(self._limit)
        self._short: RequestLog | None = None
        #: The requests that precede each short log.
        self._lasting = RequestLog(self._limit)
        self._saves = False
        self.rooted = False

    def __len__(self) -> int:
        """Returns the number of requests that a replay would repeat."""
        logs = self.logs()
        return len(logs[0]) if logs else 0

    def logs(self) -> Sequence[Replayable]:
        """Returns the logs that can be replayed, in the order to try."""
        logs = (self._short, self._long)
        return [log for log in logs if log is not None and not log.overflowed]

    def copy(self) -> Recording:
        """Returns an independent copy of the recording."""
        clone = Recording(self._limit)
        clone._renders = self._renders
        clone.become(self)
        return clone

    def become(self, other: Recording) -> None:
        """Replaces the content by a copy of another recording of the same environment."""
        self._long, self._lasting = other._long.copy(), other._lasting.copy()
        self._short = None if other._short is None else other._short.copy()
        self._saves, self.rooted = other._saves, other.rooted

    def add_unseen(self, request: bytes) -> None:
        """Records a request that was served, but whose answer was not received."""
        if REQUESTS.kind(request) in _RECORDED:
            self._add(request, None)

    def note(self, request: bytes, reply: Reply) -> None:
        """Records a request and its answer."""
        kind = REQUESTS.kind(request)
        if kind not in _RECORDED:
            return
        reason = _reason(reply)
        if reason is not None and reason not in _SERVED:
            return
        if kind == "step" and is_not_taken(reply.message):
            return
        if kind == "render":
            if self._renders:
                self._add(request, None)
            return
        if kind == "reset" and reason is None:
            self._reset(pb.InteractRequest.FromString(request).reset)
        if kind == "step" and reason is None and answers_chunk(reply.message):
            for each in _split_chunk(request, reply):
                self._add(*each)
            return
        self._saves = self._saves or kind == "save_state"
        # An answer that was too large to send is not compared: a replay does not send it, so nothing refuses it.
        self._add(request, None if reason is Reason.MESSAGE_TOO_LARGE else reply)
        if outlasts_episodes(request):
            self._lasting.add(request, None)

    def _reset(self, request: pb.ResetRequest) -> None:
        """Begins a new log, if a reset makes the requests before it irrelevant."""
        seeded, known = seeds_all(request), request.HasField("np_random")
        self.rooted = self.rooted or seeded or known
        if self._saves:  # only a full replay creates the saved states again
            self._short = None
        elif seeded:
            self._short, self._long = None, self._lasting.lasting()
            self._lasting = self._long.copy()
        elif known and not is_masked(request):
            self._short = self._lasting.copy()

    def _add(self, request: bytes, reply: Reply | None) -> None:
        short, long = self._short, self._long
        if long.overflowed and (short is None or short.overflowed):
            return  # no digest is needed if nothing can be replayed
        answer = None if reply is None else digested(reply.message, reply.area)
        long.add(request, answer)
        if short is not None:
            short.add(request, answer)

    def check_whole(self, loss: Exception) -> None:
        """Checks that the recording can be replayed.

        Raises:
            ReplayError: There were more requests than the limit.
        """
        if not self.logs():
            raise ReplayError(
                f"{loss}. It cannot be replayed: there were more than replay_limit={self._limit} requests since the "
                "last reset from which a recording can begin. Pass a larger replay_limit=, or a seed to reset() now "
                "and then"
            ) from loss


def seeds_all(request: pb.ResetRequest) -> bool:
    """Returns whether a reset seeds all members, so that no request before it matters."""
    if not request.HasField("seed") or is_masked(request):
        return False
    seed = decode_value(request.seed, envwire_family())
    return not is_tuple_or_list(seed) or None not in seed


def is_masked(request: pb.ResetRequest) -> bool:
    """Returns whether a reset has a mask, which selects members of a vector environment."""
    return any(entry.name == RESET_MASK for entry in request.options.entries)


def is_not_taken(message: bytes) -> bool:
    """Returns whether an answer says that a step which was sent ahead was not taken."""
    return len(message) < _SHORT_BYTES and pb.InteractResponse.FromString(message).step.not_taken


def _reason(reply: Reply) -> Reason | None:
    if RESPONSES.kind(reply.message) != "error":
        return None
    error = pb.InteractResponse.FromString(reply.message).error
    return decode_fault(error, envwire_family()).reason


def _split_chunk(request: bytes, reply: Reply) -> Iterator[tuple[bytes, Reply]]:
    """Yields a Step with one action and its answer, for each action of a chunk that was taken or failed."""
    asked = pb.InteractRequest.FromString(request).step
    answer = pb.InteractResponse.FromString(reply.message).step
    answers = [pb.InteractResponse(step=step) for step in answer.steps]
    if answer.HasField("error"):
        answers.append(pb.InteractResponse(error=answer.error))
    for index, (action, each) in enumerate(zip(asked.actions, answers, strict=False)):
        step = pb.StepRequest(action=action, mirror_np_random=asked.mirror_np_random)
        if index == 0 and asked.HasField("np_random"):
            step.np_random.CopyFrom(asked.np_random)
        one = pb.InteractRequest(step=step)
        yield one.SerializeToString(), Reply(each.SerializeToString())


_log = logging.getLogger("envwire.client")


class MemberRecording(Recording):
    """The recording of one session of a vector environment.

    Args:
        limit: Most requests in a log.
        size: Number of members.
        render_mode: The environments' render mode.
    """

    def __init__(self, limit: int, size: int, render_mode: str | None = None) -> None:
        self._size = size
        super().__init__(limit, render_mode)

    def begin(self) -> None:
        """Starts over: the environments are new ones."""
        super().begin()
        self._members = MemberRequestLog(self._size, self._limit, self._lasting.copy())

    def logs(self) -> Sequence[Replayable]:
        """Returns the logs that can be replayed, in the order to try."""
        if self._saves or self._members.overflowed:
            return super().logs()
        return [self._members, *super().logs()]

    def _reset(self, request: pb.ResetRequest) -> None:
        super()._reset(request)
        if seeds_all(request):
            self._members = MemberRequestLog(self._size, self._limit, self._lasting.copy())

    def _add(self, request: bytes, reply: Reply | None) -> None:
        if reply is None:
            self._long.add(request, None)
            self._members.add(request, None, {})
            return
        response = pb.InteractResponse.FromString(reply.message)
        starts = _starts(request, response, self._size)
        answer = digested_message(response, len(reply.message), reply.area)
        if not self._long.overflowed:
            self._long.add(request, answer)
        self._members.add(request, answer, starts)

    def check_whole(self, loss: Exception) -> None:
        """Checks that the recording can be replayed; if one episode of each member is not enough, logs why.

        Raises:
            ReplayError: There were more requests than the limit.
        """
        super().check_whole(loss)
        if self._members.overflowed:
            _log.info(
                "environments %s of the session cannot be replayed from their last episode: for %d requests their "
                "resets reported no state of a NumPy generator. All requests since the last reset with seeds are "
                "replayed",
                self._members.unknown(),
                len(self._members),
            )


def _starts(
    raw: bytes, response: pb.InteractResponse, size: int
) -> dict[int, spaces_pb2.RandomState | None]:
    """Returns the members that a request reset, each with its generator's state before; None if it was seeded."""
    kind = response.WhichOneof("response")
    if kind not in ("reset", "step"):
        return {}
    found: dict[int, spaces_pb2.RandomState | None] = {}
    if kind == "reset":
        found.update(dict.fromkeys(_seeded(pb.InteractRequest.FromString(raw).reset, size)))
    for each in getattr(response, kind).member_resets:
        if each.HasField("np_random") and each.member < size:
            found[each.member] = each.np_random
    return found


def _seeded(request: pb.ResetRequest, size: int) -> list[int]:
    """Returns the members that a reset seeded."""
    if not request.HasField("seed"):
        return []
    seed = decode_value(request.seed, envwire_family())
    masks = [entry.value for entry in request.options.entries if entry.name == RESET_MASK]
    chosen = decode_value(masks[0], envwire_family()) if masks else None
    return [
        index
        for index in range(size)
        if (chosen is None or chosen[index])
        and (not is_tuple_or_list(seed) or seed[index] is not None)
    ]
