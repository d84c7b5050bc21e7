"""The mirror of an environment's generator takes none that could not be sent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from envwire.client import RemoteEnv
from envwire.testing import InProcessTransport


@pytest.mark.parametrize("wrong", [None, 3, np.random.RandomState(3)])
def test_what_is_no_generator_does_not_become_np_random(wrong: Any) -> None:
    env = RemoteEnv(None, "CartPole-v1", transport=InProcessTransport(["CartPole-v1"]))
    first = env.reset(seed=7)[0]
    with pytest.raises(ValueError, match=r"expected a numpy\.random\.Generator"):
        env.np_random = wrong
    assert (env.reset(seed=7)[0] == first).all()
    env.close()
