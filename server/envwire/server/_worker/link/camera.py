"""Renders pictures of an environment for watchers, between its client's requests and without any effect on them."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Generator
from typing import Any

import numpy as np

from envwire.envs.type_guards import is_tuple_or_list
from envwire.server._hosting.np_random import generator_state, restore_generator
from envwire.server._hosting.vector.vector_hosts import MembersHost
from envwire.server._ipc.pictures import RENDER_MODE, pack_picture, pack_reason


def take_picture(env: Any) -> bytes:
    """Renders an environment, or a vector environment's first member; returns the message for the front.

    An exception becomes the reason why there is no picture; the client, which did not ask for one, does not see it.

    Args:
        env: The environment, with its wrappers.
    """
    if env.render_mode != RENDER_MODE:
        return pack_reason(f"it was not made with render_mode={RENDER_MODE!r}")
    shown = env.members[0] if isinstance(env, MembersHost) else env
    begun = time.perf_counter()
    try:
        with _generators_kept(shown):
            rendered = shown.render()
        frame = rendered[0] if is_tuple_or_list(rendered) else rendered
        return pack_picture(frame, time.perf_counter() - begun)
    except Exception as error:
        return pack_reason(f"{type(error).__name__}: {error}", time.perf_counter() - begun)


@contextlib.contextmanager
def _generators_kept(env: Any) -> Generator[None]:
    """Restores the random generators' state afterwards, since some environments draw numbers to render."""
    state = generator_state(env.unwrapped)
    of_numpy, of_python = np.random.get_state(), random.getstate()
    try:
        yield
    finally:
        restore_generator(env.unwrapped, state)
        np.random.set_state(of_numpy)
        random.setstate(of_python)
