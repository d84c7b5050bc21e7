"""A library of arrays of our own, of which only DLPack is known, and the real ones that are installed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np


class Own:
    """An array that offers nothing but DLPack, a length, slices and its truth."""

    def __init__(self, array: Any) -> None:
        self._array = np.array(array)

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self._array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()

    def __bool__(self) -> bool:
        return bool(self._array)

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, index: Any) -> Own:
        return Own(self._array[index])

    @property
    def ndim(self) -> int:
        return self._array.ndim


def to(library: str, array: Any, device: str = "cpu") -> Any:
    """Returns an array of a library on a device."""
    if library == "own":
        return Own(array)
    module = import_module(library)
    if library == "torch":
        return module.from_numpy(np.array(array)).to(device)
    if library == "jax":
        platform = "cpu" if device == "cpu" else "gpu"
        return module.device_put(np.array(array), module.devices(platform)[0])
    return module.asarray(array)


def host(value: Any) -> Any:
    """Returns an array of any library as one of NumPy; other values, and those in containers, as they are."""
    if isinstance(value, dict):
        return {key: host(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(map(host, value))
    if isinstance(value, Own):
        return value._array.copy()
    root = type(value).__module__.partition(".")[0]
    if root == "torch":
        return value.cpu().numpy()
    if root == "cupy":
        return value.get()
    return np.asarray(value) if root in {"jax", "jaxlib"} else value


INSTALLED = [name for name in ("torch", "jax") if find_spec(name) is not None]
