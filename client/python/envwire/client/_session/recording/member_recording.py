"""Records a vector environment whose server reports members' resets: a replay repeats one episode of each member."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from envwire.client._session.recording.member_request_log import MemberRequestLog
from envwire.client._session.recording.recording import RESET_MASK, Recording, Replayable, seeds_all
from envwire.codec import decode_value, envwire_family
from envwire.codec.digests import digested_message
from envwire.envs.type_guards import is_tuple_or_list
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import spaces_pb2
from envwire.wire.frames import Reply

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
