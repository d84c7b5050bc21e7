"""The compliance classes pass for correct environments and fail for incorrect ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import pytest

import envwire.envs as gym
from envwire.server import Server
from envwire.testing import EnvironmentCompliance, ServerCompliance
from envwire.v1 import environment_pb2 as pb


class TestCartPole(EnvironmentCompliance):
    env_id = "CartPole-v1"


class TestGymnasiumsCartPole(EnvironmentCompliance):
    env_id = "CartPole-v1"
    library = "gymnasium"


class TestServer(ServerCompliance):
    @pytest.fixture(autouse=True)
    def _served(self, server: Server) -> None:
        type(self).target = server.target


class Defective(gym.Env[np.ndarray, int]):
    """Right in everything but what `defect` names."""

    observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)
    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 4}

    def __init__(self, defect: str = "", render_mode: str | None = None) -> None:
        self.defect = defect
        self.render_mode = render_mode
        self._buffer = np.zeros(2, np.float32)

    def _observe(self) -> np.ndarray:
        drawn = self.np_random.random(2, np.float32)
        if self.defect == "unseeded":
            drawn = np.random.default_rng().random(2, np.float32)
        if self.defect == "outside":
            drawn += 2
        self._buffer[:] = drawn
        return self._buffer if self.defect == "buffer" else drawn

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        if self.defect == "constant seed":
            seed = 1
        if self.defect == "default seed":
            seed = seed or 0
        if self.defect != "forgets":
            super().reset(seed=seed)
        return self._observe(), {}

    def step(self, action: int) -> Any:
        reward, terminated, info = _RESULTS.get(self.defect, (0.0, False, {}))
        result = (self._observe(), reward, terminated, False, info)
        return result[:4] if self.defect == "four" else result

    def render(self) -> Any:
        return np.zeros((4, 4, 3), float if self.defect == "float pixels" else np.uint8)


#: Reward, terminated and info of a step, of types that the API does not name.
_RESULTS: dict[str, tuple[Any, Any, Any]] = {
    "text reward": ("0.0", False, {}),
    "number as flag": (0.0, 0, {}),
    "number as key": (0.0, False, {1: 2}),
}

gym.register("tests/Defective-v0", entry_point=Defective)


@pytest.mark.parametrize(
    ("defect", "test"),
    [
        ("outside", EnvironmentCompliance.test_step_returns_five_values),
        ("four", EnvironmentCompliance.test_step_returns_five_values),
        ("unseeded", EnvironmentCompliance.test_a_seed_decides_the_episode),
        ("forgets", EnvironmentCompliance.test_a_reset_with_the_same_seed_begins_the_same_episode),
        ("buffer", EnvironmentCompliance.test_answers_are_fresh_objects),
        ("text reward", EnvironmentCompliance.test_step_returns_five_values),
        ("number as flag", EnvironmentCompliance.test_step_returns_five_values),
        ("number as key", EnvironmentCompliance.test_step_returns_five_values),
        ("constant seed", EnvironmentCompliance.test_the_library_finds_no_violation),
        ("default seed", EnvironmentCompliance.test_a_reset_without_a_seed_goes_on),
        ("float pixels", EnvironmentCompliance.test_pictures_are_the_same_remotely),
    ],
)
def test_a_defect_fails_its_test(
    defect: str, test: Callable[[EnvironmentCompliance], None]
) -> None:
    class Compliance(EnvironmentCompliance):
        env_id = "tests/Defective-v0"
        imports = (__name__,)
        kwargs: ClassVar[Mapping[str, Any]] = {"defect": defect}

        def make(self) -> Any:
            return Defective(**self.kwargs)

    with pytest.raises((AssertionError, ValueError)):
        test(Compliance())

    class Sound(Compliance):
        kwargs: ClassVar[Mapping[str, Any]] = {}

    test(Sound())


def test_a_server_that_serves_a_repeated_request_again_fails(server: Server) -> None:
    class Forgetful(ServerCompliance):
        target = server.target

        def _open(self) -> Any:
            return _StepsAgain(super()._open())

    with pytest.raises(AssertionError):
        Forgetful().test_a_repeated_request_is_served_once()


class _StepsAgain:
    """Sends a repeated step under the next number, as a server does that keeps no replies."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._last = b""

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Any:
        if request == self._last:
            again = pb.InteractRequest.FromString(request)
            again.step.sequence += 1
            request = again.SerializeToString()
        self._last = request
        return self._transport.exchange(request, timeout, header)

    def close(self) -> None:
        self._transport.close()
