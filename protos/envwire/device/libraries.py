"""The libraries of arrays: how arrays of each get into shared memory and out of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from envwire.device.dlpack import DLPACK_CPU


@dataclass(frozen=True)
class Library:
    """What a library does with arrays. The functions get the library's module first.

    Attributes:
        module: Name of its module.
        take: Returns an array over the memory of what is given by DLPack.
        copy: Returns a copy. It is complete once the library's stream is, or at once if there is no `stream`.
        place: Returns an array of NumPy on a device: type and number, as DLPack counts them.
        alias: Returns another array over the same memory. None: an array of the library must not change, so that one
            that was taken is not used for the next message.
        stream: Returns the stream of a GPU on which the library computes now. None: only DLPack can tell.
        span: Returns the address, shape, name of the element type, and device of an array, packed in C order, with the
            array itself; much faster than by DLPack. None: only DLPack can tell.
    """

    module: str
    take: Callable[[Any, Any], Any]
    copy: Callable[[Any, Any], Any]
    place: Callable[[Any, Any, tuple[int, int]], Any]
    alias: Callable[[Any], Any] | None = None
    stream: Callable[[Any, int], int] | None = None
    span: Callable[[Any, Any], tuple[int, tuple[int, ...], str, tuple[int, int], Any]] | None = None

    @property
    def loaded(self) -> Any:
        """The module.

        Raises:
            ImportError: It is not installed.
        """
        return import_module(self.module)


def _place_torch(torch: Any, array: Any, device: tuple[int, int]) -> Any:
    tensor = torch.from_numpy(array)
    return tensor if device[0] == DLPACK_CPU else tensor.to(f"cuda:{device[1]}")


def _span_of_torch(
    torch: Any, tensor: Any
) -> tuple[int, tuple[int, ...], str, tuple[int, int], Any]:
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if tensor.layout is not torch.strided:
        raise TypeError(f"a tensor of layout {tensor.layout}")
    place = tensor.device
    device = (2, place.index) if place.type == "cuda" else (DLPACK_CPU, 0)
    if place.type not in {"cuda", "cpu"}:
        raise TypeError(f"a tensor on {place}")
    name = str(tensor.dtype).removeprefix("torch.")
    return tensor.data_ptr(), tuple(tensor.shape), name, device, tensor


def _place_jax(jax: Any, array: Any, device: tuple[int, int]) -> Any:
    platform = "cpu" if device[0] == DLPACK_CPU else "gpu"
    return jax.device_put(array, jax.local_devices(backend=platform)[device[1]])


def _copy_jax(jax: Any, array: Any) -> Any:
    # JAX computes later, and on streams of its own: only it can tell when the copy is complete.
    return jax.numpy.array(array, copy=True).block_until_ready()


def _place_cupy(cupy: Any, array: Any, device: tuple[int, int]) -> Any:
    with cupy.cuda.Device(device[1]):
        return cupy.asarray(array)


LIBRARIES: Final = {
    "numpy": Library(
        "numpy",
        take=lambda numpy, given: numpy.from_dlpack(given),
        copy=lambda _, array: array.copy(),
        place=lambda _, array, __: array,
        alias=lambda array: array.view(),
    ),
    "torch": Library(
        "torch",
        take=lambda torch, given: torch.from_dlpack(given),
        copy=lambda _, tensor: tensor.clone(),
        place=_place_torch,
        alias=lambda tensor: tensor.detach(),
        stream=lambda torch, number: int(torch.cuda.current_stream(number).cuda_stream),
        span=_span_of_torch,
    ),
    "jax": Library(
        "jax",
        take=lambda jax, given: jax.dlpack.from_dlpack(given),
        copy=_copy_jax,
        place=_place_jax,
    ),
    "cupy": Library(
        "cupy",
        take=lambda cupy, given: cupy.from_dlpack(given),
        copy=lambda _, array: array.copy(),
        place=_place_cupy,
        alias=lambda array: array.view(),
        stream=lambda cupy, _: int(cupy.cuda.get_current_stream().ptr),
    ),
}
"""The libraries, by the names of their modules."""

#: Modules that define arrays of a library with another name.
_ALIASES: Final = {"jaxlib": "jax"}


def library_of(value: object) -> str:
    """Returns the name of the library of an array; empty if it is none of `LIBRARIES`."""
    root = type(value).__module__.partition(".")[0]
    name = _ALIASES.get(root, root)
    return name if name in LIBRARIES else ""
