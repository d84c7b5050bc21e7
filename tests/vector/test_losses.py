"""A session whose process was killed: an error, or the end of its environments' episodes."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envwire.client import SessionClosedError, SessionLostError
from envwire.server import Server
from tests.tiers import cross
from tests.vector.conftest import BEHIND_ANY_GUARD
from tests.vector.faces import FAMILIES, Family
from tests.vector.hosted import WAIT

pytestmark = pytest.mark.filterwarnings("default")

FAMILY = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
FAMILY_AND_TRANSPORT = pytest.mark.parametrize(
    ("family", "transport"), cross(FAMILIES, ["direct", "stream", "unary"])
)
GO = np.zeros(5, np.int64)


def _make(server: Server, family: Family, **kwargs: Any) -> tuple[Any, Any]:
    """Returns five environments in sessions of three and two, two steps on, and their processes."""
    env = family.remote(server.target, "vectors/Gated-v0", 5, **{"sessions": 2, **kwargs})
    env.reset(seed=1)
    env.step(GO)
    return env, env.step(GO)[-1]["pid"]


@BEHIND_ANY_GUARD
@FAMILY_AND_TRANSPORT
def test_it_raises(vector_server: Server, family: Family, transport: str) -> None:
    env, pids = _make(vector_server, family, transport=transport)
    os.kill(int(pids[3]), signal.SIGKILL)
    with pytest.raises(SessionLostError, match="SIGKILL"):
        env.step(GO)
    for ask in (lambda: env.step(GO), lambda: env.get_attr("steps"), env.render):
        with pytest.raises(SessionClosedError, match="lost"):
            ask()
    observations, infos = env.reset(seed=1)
    assert observations.tolist() == [[0.0]] * 5
    assert (infos["pid"][:3] == pids[:3]).all()
    assert (infos["pid"][3:] != pids[3:]).all()
    assert env.step(GO)[0].tolist() == [[1.0]] * 5
    env.close()


@BEHIND_ANY_GUARD
@FAMILY_AND_TRANSPORT
def test_it_truncates(vector_server: Server, family: Family, transport: str) -> None:
    env, pids = _make(vector_server, family, transport=transport, on_lost="truncate")
    os.kill(int(pids[0]), signal.SIGKILL)
    observations, rewards, terminations, truncations, infos = env.step(GO)
    lost = [True, True, True, False, False]
    assert observations.tolist() == [[2.0]] * 3 + [[3.0]] * 2
    assert rewards.tolist() == [0.0] * 3 + [1.0] * 2
    assert (truncations.tolist(), terminations.any()) == (lost, False)
    assert (infos["lost"].tolist(), infos["_lost"].tolist()) == (lost, lost)
    assert "SIGKILL" in infos["lost_reason"][0]
    assert infos["lost_reason"][3] is None
    observations, rewards, _, truncations, infos = env.step(GO)
    assert observations.tolist() == [[0.0]] * 3 + [[4.0]] * 2
    assert rewards.tolist() == [0.0] * 3 + [1.0] * 2
    assert not truncations.any()
    assert "lost" not in infos
    assert infos["pid"][0] != pids[0]
    assert env.step(GO)[0].tolist() == [[1.0]] * 3 + [[5.0]] * 2
    env.close()


@FAMILY
def test_it_truncates_and_begins_in_the_same_step(vector_server: Server, family: Family) -> None:
    env, pids = _make(vector_server, family, on_lost="truncate", autoreset_mode="SAME_STEP")
    os.kill(int(pids[4]), signal.SIGKILL)
    observations, _, _, truncations, infos = env.step(GO)
    lost = [False, False, False, True, True]
    assert observations.tolist() == [[3.0]] * 3 + [[0.0]] * 2
    assert truncations.tolist() == lost
    assert infos["_final_obs"].tolist() == lost
    assert [own if own is None else own.tolist() for own in infos["final_obs"]] == [
        *[None] * 3,
        *[[2.0]] * 2,
    ]
    assert infos["final_info"]["lost"].tolist() == infos["lost"].tolist() == lost
    assert infos["pid"][4] != pids[4]
    assert env.step(GO)[0].tolist() == [[4.0]] * 3 + [[1.0]] * 2
    env.close()


@FAMILY
def test_it_truncates_and_waits_to_be_reset(vector_server: Server, family: Family) -> None:
    env, pids = _make(vector_server, family, on_lost="truncate", autoreset_mode="DISABLED")
    os.kill(int(pids[4]), signal.SIGKILL)
    ended = env.step(GO)[3]
    assert ended.tolist() == [False, False, False, True, True]
    with pytest.raises(SessionClosedError, match="environments 3 to 4"):
        env.step(GO)
    assert env.reset(options={"reset_mask": ended})[0].tolist() == [[4.0]] * 3 + [[0.0]] * 2
    env.close()


def test_what_the_last_batch_was_is_nobodys_to_change(vector_server: Server) -> None:
    env, pids = _make(vector_server, FAMILIES["envwire"], on_lost="truncate", sessions=1)
    seen = env.step(GO)[0]
    seen[:] = -1
    os.kill(int(pids[4]), signal.SIGKILL)
    assert env.step(GO)[0].tolist() == [[3.0]] * 5
    env.close()


@FAMILY
def test_an_exception_leaves_the_others_in_step(vector_server: Server, family: Family) -> None:
    env = family.remote(vector_server.target, "tests/Faulty-v0", 3, sessions=3, library="envwire")
    env.reset()
    with pytest.raises(ValueError, match="wheel fell off"):
        env.step(np.array([0, 1, 0]))
    assert env.step(np.zeros(3, np.int64))[0].ravel().tolist() == [2.0, 1.0, 2.0]
    env.close()


def test_a_deadline_that_passed_and_the_reply_that_came_later(
    vector_server: Server, tmp_path: Path
) -> None:
    gate = tmp_path / "open"
    env = FAMILIES["envwire"].remote(
        vector_server.target, "vectors/Gated-v0", 2, sessions=2, timeout=4.0, gate=str(gate)
    )
    env.reset()
    with pytest.raises(TimeoutError):
        env.step(np.array([0, WAIT]))
    gate.touch()
    # The late step was taken once, whatever became of its reply.
    assert env.step(np.zeros(2, np.int64))[0].tolist() == [[2.0], [2.0]]
    env.close()
