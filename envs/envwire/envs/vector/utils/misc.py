"""Starting an environment in another process; the module path is Gymnasium's."""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
from collections.abc import Callable, Generator
from typing import Any

from envwire.envs.core import Env

__all__ = ["CloudpickleWrapper", "clear_mpi_env_vars"]

_MPI_PREFIXES = ("OMPI_", "PMI_")


class CloudpickleWrapper:
    """A function that makes an environment, pickled by cloudpickle if that is installed.

    With the ``spawn`` and ``forkserver`` methods the function is sent to the new process, and
    pickle alone does not support lambdas.
    """

    def __init__(self, fn: Callable[[], Env]) -> None:
        self.fn = fn

    def __getstate__(self) -> bytes:
        try:
            pickler: Any = importlib.import_module("cloudpickle")
        except ImportError:
            pickler = pickle
        return bytes(pickler.dumps(self.fn))

    def __setstate__(self, state: bytes) -> None:
        self.fn = pickle.loads(state)  # noqa: S301 - from the parent process

    def __call__(self) -> Env:
        """Makes the environment."""
        return self.fn()


@contextlib.contextmanager
def clear_mpi_env_vars() -> Generator[None]:
    """Hides MPI's environment variables, so that a child process does not act as a rank."""
    hidden = {key: os.environ.pop(key) for key in list(os.environ) if key.startswith(_MPI_PREFIXES)}
    try:
        yield
    finally:
        os.environ.update(hidden)
