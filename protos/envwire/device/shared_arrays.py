"""The arrays that one end of a direct channel puts into memory of a device, and takes out of it.

Each request and each answer begins at the start of its sender's part: what was there before is then no longer valid,
which is why arrays are copied out unless the receiver was told not to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from envwire.codec.values.tensors import attached, data_type_of, dtype_of
from envwire.device.device_memory import (
    ALIGNMENT,
    DeviceMemory,
    Put,
    check_together,
    in_host_memory,
    span_in,
)
from envwire.device.dlpack import (
    DLPACK_CPU,
    DLPACK_CUDA,
    Borrowed,
    NotSharedError,
    borrow,
    capsule_of,
    device_of,
)
from envwire.device.libraries import LIBRARIES, Library, library_of
from envwire.v1 import environment_pb2, values_pb2

#: DLPack's number for: do not synchronise.
_NO_STREAM: Final = -1
#: Arrays over the memory that are kept for the next messages.
_MOST_KNOWN: Final = 256
#: The element types, by the names that torch has for them as well.
_NAMED: Final = {
    name.removeprefix("DATA_TYPE_").lower(): dtype_of(number)
    for name, number in values_pb2.DataType.items()
    if 0 < number < values_pb2.DATA_TYPE_NUMPY
}
_NUMBERS: Final = {dtype: data_type_of(dtype) for dtype in _NAMED.values()}


class SharedArrays:
    """The arrays in shared memory, at one end.

    Args:
        memory: The memory.
        writes: The part that this end writes, in bytes.
        reads: The part that it reads.
        library: The library of the arrays to take; empty for the one that the sender names, or that was last put here.
        copy: Whether to copy arrays out of the memory.

    Attributes:
        memory: The memory.
    """

    def __init__(
        self,
        memory: DeviceMemory,
        writes: range,
        reads: range,
        *,
        library: str = "",
        copy: bool = True,
    ) -> None:
        self.memory = memory
        self._writes, self._reads = writes, reads
        self._library, self._copy = library, copy
        self._free = 0
        #: What `finish` copies into the memory.
        self._puts: list[Put] = []
        #: The streams on which arrays are put, and those that were taken are read.
        self._streams: set[int] = set()
        #: The streams on which libraries compute during this message, by their names and GPUs.
        self._current: dict[tuple[str, int], int | None] = {}
        #: Arrays over the memory, by their tensors: most messages have the same as the last one.
        self._known: dict[tuple[str, bytes], Any] = {}
        #: Arrays that were taken from this message, by identity: their library, and the array over the memory.
        self._latest: dict[int, tuple[Library, Any]] = {}
        #: Bytes of the arrays that were taken since a message was begun.
        self._taken_bytes = 0
        #: Library of what was last put, and whether that was on the host.
        self._own: tuple[str, bool] = "", False

    def begin(self) -> None:
        """Begins a message: the arrays of the last one are overwritten."""
        self._free = self._taken_bytes = 0
        self._puts.clear()
        self._latest.clear()
        last, self._current = self._current, {}
        for name, number in last:
            self._stream_of(
                name, number
            )  # arrays that were taken may be read on another stream by now

    def put(self, value: object, tensor: values_pb2.Tensor) -> bool:
        """Copies an array of a library into the memory, and writes where it is.

        Args:
            value: The array.
            tensor: Filled in place.

        Returns:
            Whether there was room, and the value is an array on this device or on the host.
        """
        library = library_of(value)
        try:
            array, stream = self._borrowed(value, library)
        except NotSharedError:
            return False
        start = -(-self._free // ALIGNMENT) * ALIGNMENT
        length = array.nbytes
        number = _NUMBERS.get(array.dtype)
        if number is None or start + length > len(self._writes):
            return False
        if length:
            self._puts.append(Put(array, self._writes.start + start, stream))
        self._free = start + length
        tensor.data_type = number
        tensor.shape.extend(array.shape)
        tensor.device.offset, tensor.device.library = start, library
        self._own = library, array.on_host
        return True

    def _borrowed(self, value: Any, name: str) -> tuple[Borrowed, int | None]:
        """Returns an array, and the stream on which it is computed; None for that of the memory.

        Raises:
            NotSharedError: It is no array, or on a device that cannot copy it here.
        """
        library = LIBRARIES.get(name)
        if library is not None and library.span is not None:
            array = _spanned(library.span, library.loaded, value)
        else:
            array = borrow(value, self._reader_of(value, library))
        if array.on_host:
            return array, None
        if not self.memory.reaches(array.device):
            raise NotSharedError("an array on another device")
        return array, self._stream_of(name, array.device[1])

    def _reader_of(self, value: Any, library: Library | None) -> int | None:
        """Returns the stream that an array's library makes wait for it, by DLPack; None on the host."""
        device = device_of(value)
        if device[0] != DLPACK_CUDA:
            return None
        if library is not None and library.stream is not None:
            return _NO_STREAM  # it is copied on the stream of its library
        if device != self.memory.device:
            raise NotSharedError("an array on another device")
        return self.memory.stream

    def _stream_of(self, name: str, number: int) -> int | None:
        """Returns the stream on which a library computes now, which `finish` waits for; None if DLPack tells."""
        key = name, number
        if key not in self._current:
            library = LIBRARIES.get(name)
            stream = None
            if library is not None and library.stream is not None:
                stream = library.stream(library.loaded, number)
                self._streams.add(stream)
            self._current[key] = stream
        return self._current[key]

    def take(self, tensor: values_pb2.Tensor) -> Any:
        """Returns the array of a tensor that is in the memory.

        Raises:
            CodecError: It is not inside of the sender's part, or not aligned, or there are too many.
            ImportError: Its library is not installed here.
        """
        self._taken_bytes += math.prod(tensor.shape) * dtype_of(tensor.data_type).itemsize
        check_together(self._taken_bytes, 2 * len(self._reads))  # a message may be read twice
        asked = self._library or tensor.device.library
        own, own_on_host = self._own
        name = asked or own
        name = name if name in LIBRARIES else "numpy"
        library = LIBRARIES[name]
        module, memory = library.loaded, self.memory
        if memory.device[0] != DLPACK_CPU and (name == "numpy" or (own_on_host and not asked)):
            span = span_in(self._reads, tensor)
            area = memory.read(span.start, len(span))
            array = attached(tuple(tensor.shape), dtype_of(tensor.data_type), area, 0)
            return library.place(module, array, (DLPACK_CPU, 0))
        if memory.stream is not None:
            self._stream_of(name, memory.device[1])
        taken = self._taken(library, tensor)
        value = self._out(library, taken)
        if library.alias is not None:
            self._latest[id(value)] = library, taken
        return value

    def _out(self, library: Library, taken: Any) -> Any:
        """Returns an array over the memory as the caller gets it."""
        if self._copy:
            return library.copy(library.loaded, taken)
        return taken if library.alias is None else library.alias(taken)

    def repeat_takes(self, values: Sequence[Any]) -> Callable[[], list[Any]] | None:
        """Returns what takes the arrays of this message again from the next one; None if they are not all of it."""
        if [*map(id, values)] != [*self._latest]:
            return None
        taken = [*self._latest.values()]
        number = None if self.memory.stream is None else self.memory.device[1]

        def take_again() -> list[Any]:
            if number is not None:
                self._stream_of(taken[0][0].module, number)
            return [self._out(library, array) for library, array in taken]

        return take_again

    def repeat_puts(self, values: Sequence[Any]) -> Callable[[Sequence[Any]], bool] | None:
        """Returns what puts arrays of the same forms where those of this message are; None if they are not all of it.

        It returns False, with nothing put, for arrays of other forms.
        """
        forms = [(put.array.shape, put.array.dtype, put.offset) for put in self._puts]
        names = [*map(library_of, values)]
        # The value of an array without axes is in the message as well.
        if len(forms) != len(values) or not all(shape for shape, *_ in forms):
            return None

        def put_again(values: Sequence[Any]) -> bool:
            puts: list[Put] = []
            for value, name, (shape, dtype, offset) in zip(values, names, forms, strict=True):
                try:
                    array, stream = self._borrowed(value, name)
                except NotSharedError:
                    return False
                if array.shape != shape or array.dtype != dtype or library_of(value) != name:
                    return False
                puts.append(Put(array, offset, stream))
            self._puts = puts
            return True

        return put_again

    def placed(self, array: Any) -> Any:
        """Returns an array that came in a request as it is: environments take actions of NumPy, too."""
        return array

    def _taken(self, library: Library, tensor: values_pb2.Tensor) -> Any:
        """Returns an array over the memory.

        Raises:
            CodecError: It is not inside of the sender's part.
        """
        key = library.module, tensor.SerializeToString()
        taken = self._known.get(key)
        if taken is None:
            start, dtype = span_in(self._reads, tensor).start, dtype_of(tensor.data_type)
            taken = library.take(library.loaded, _Given(self, start, tuple(tensor.shape), dtype))
            if library.alias is not None:
                if len(self._known) >= _MOST_KNOWN:
                    self._known.clear()
                self._known[key] = taken
        return taken

    def read_on(self, stream: int | None) -> None:
        """Notes the stream on which a library reads an array that it took; see `finish`."""
        if stream is not None and stream != _NO_STREAM:
            self._streams.add(stream)

    def finish(self) -> None:
        """Waits for the copies into the memory, and for the reads of what was taken: now a frame may be sent."""
        self.memory.write(self._puts, self._streams)
        self._puts.clear()
        self._streams.clear()

    def answer_in_host_memory(self, answer: bytes, *, own: bool) -> bytes:
        """Returns an InteractResponse with all its arrays in the message.

        Args:
            answer: The answer.
            own: Whether this end sent it.

        Raises:
            CodecError: An array is not inside of the sender's part.
        """
        message = environment_pb2.InteractResponse.FromString(answer)
        return in_host_memory(message, self.memory, self._writes if own else self._reads)

    def request_in_host_memory(self, request: bytes, *, own: bool) -> bytes:
        """Returns an InteractRequest with all its arrays in the message (see `answer_in_host_memory`)."""
        message = environment_pb2.InteractRequest.FromString(request)
        return in_host_memory(message, self.memory, self._writes if own else self._reads)


def _spanned(span: Any, module: Any, value: Any) -> Borrowed:
    """Returns an array by its library's own means.

    Raises:
        NotSharedError: It has no elements that lie side by side, or of a type that NumPy has not.
    """
    try:
        address, shape, name, device, owner = span(module, value)
        return Borrowed(address, shape, _NAMED[name], device, owner)
    except Exception as error:
        raise NotSharedError(f"no array to share: {error!r}") from error


class _Given:
    """An array in the memory, for a library to take by DLPack."""

    def __init__(
        self, arrays: SharedArrays, start: int, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        self._arrays, self._start, self._shape, self._dtype = arrays, start, shape, dtype

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._arrays.memory.device

    def __dlpack__(self, *, stream: int | None = None, **_: object) -> object:
        memory = self._arrays.memory
        self._arrays.read_on(None if memory.stream is None else stream)
        address = memory.address + self._start
        return capsule_of(address, self._shape, self._dtype, memory.device, memory)
