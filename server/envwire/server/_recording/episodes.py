"""The episodes in a recording, with values decoded, for data sets, tables and films."""

from __future__ import annotations

from collections.abc import Iterator

from envwire.codec import Family, decode_mapping, decode_value
from envwire.server._recording.episode import Episode, steps_of
from envwire.server._recording.member_episodes import member_episodes
from envwire.server._recording.reader import Exchange, RecordedSession
from envwire.v1 import environment_pb2 as pb

#: Requests that leave the current episode. After a return to a saved state the next episode begins with a reset.
_LEAVING = frozenset({"reset", "restore_state"})


def episodes(recording: RecordedSession, family: Family) -> Iterator[Episode]:
    """Yields the episodes of a recording, including abandoned ones.

    Failed steps, and steps before the first reset or after an episode's end, belong to no episode.

    Args:
        recording: The recording. Each member of a vector environment has its own episodes.
        family: Classes to decode to.

    Raises:
        RecordingError: The recording does not say where the episodes of a vector environment's members begin.
    """
    if recording.header.made.HasField("vector"):
        yield from member_episodes(recording, family)
        return
    episode: Episode | None = None
    for exchange in recording.exchanges():
        answer = exchange.response
        if answer is None or answer.HasField("error"):
            continue
        if exchange.kind in _LEAVING and episode is not None:
            yield episode
            episode = None
        if exchange.kind == "reset":
            episode = _begun(exchange.request.reset, answer.reset, family)
        elif episode is not None:
            _go_on(episode, exchange, answer, family)
    if episode is not None:
        yield episode


def _begun(request: pb.ResetRequest, response: pb.ResetResponse, family: Family) -> Episode:
    return Episode(
        seed=decode_value(request.seed, family) if request.HasField("seed") else None,
        options=decode_mapping(request.options, family) if request.HasField("options") else None,
        observations=[decode_value(response.observation, family)],
        infos=[decode_mapping(response.info, family)],
    )


def _go_on(
    episode: Episode, exchange: Exchange, answer: pb.InteractResponse, family: Family
) -> None:
    if exchange.kind == "render":
        episode.frames.append(decode_value(answer.render.frame, family))
    elif exchange.kind == "step" and not episode.ended:
        for step in steps_of(exchange.request.step, answer.step, family):
            episode.add_step(exchange.at, *step)
