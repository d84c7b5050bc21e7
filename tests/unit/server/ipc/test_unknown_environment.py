"""Ids that are not served raise what Gymnasium's own make raises."""

from __future__ import annotations

import gymnasium
import pytest

from envwire.server._ipc.refusals import unknown_environment

SERVED = [("envwire", "CartPole-v1"), ("envwire", "Pendulum-v1")]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "env_id",
    ["nowhere/CartPole-v1", "Nope-v0", "CartPole-v7", "FrozenLake-v0", "Taxi-v1", "Cartpole-v1"],
)
def test_the_class_is_gymnasiums(env_id: str) -> None:
    with pytest.raises(gymnasium.error.Error) as local:
        gymnasium.make(env_id)
    fault = unknown_environment(env_id, [("gymnasium", known) for known in gymnasium.registry])
    assert fault.exception is not None
    assert fault.exception.type_name == f"gymnasium.error.{type(local.value).__name__}"


def test_the_nearest_ids_are_named() -> None:
    fault = unknown_environment("CartPool-v1", SERVED)
    assert "did you mean CartPole-v1?" in fault.message


def test_an_id_of_another_library_is_asked_for_there() -> None:
    fault = unknown_environment("CartPole-v1", SERVED, "gym")
    assert "'CartPole-v1' of library 'gym' is not served here; ask for envwire" in fault.message
    assert "did you mean" not in fault.message


@pytest.mark.parametrize("env_id", ["", "/", "x/", "-v1", "a" * 256, "v" + "9" * 255])
def test_any_text_is_answered(env_id: str) -> None:
    assert repr(env_id) in unknown_environment(env_id, SERVED).message
