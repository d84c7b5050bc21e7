"""A peer that lies about arrays on a device gets an error, and nobody reads outside of the shared memory."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from contextlib import closing
from random import Random
from typing import Any

import numpy as np
import pytest

from envwire.client.env import RemoteEnv
from envwire.client.vector import RemoteVectorEnv
from envwire.codec import CodecError
from envwire.conformance.raw.direct_link import HEADER, UNIX
from envwire.device.device_memory import DeviceError
from envwire.device.devices import HOST, Identity, allocate, import_memory
from envwire.device.dlpack import _given, borrow, capsule_of
from envwire.device.shared_arrays import SharedArrays
from envwire.v1 import direct_pb2, values_pb2
from envwire.v1 import environment_pb2 as pb
from tests.device.conftest import ID
from tests.device.libraries import INSTALLED, Own, host, to
from tests.device.test_arrays import NATIVE

FLOAT32 = values_pb2.DATA_TYPE_FLOAT32
BYTES = 4096

LIES: dict[str, dict[str, Any]] = {
    "behind the part": {"offset": BYTES, "shape": [1]},
    "over its end": {"offset": BYTES - 256, "shape": [65]},
    "far away": {"offset": 2**63, "shape": [1]},
    "not aligned": {"offset": 128, "shape": [1]},
    "a product that overflows": {"offset": 0, "shape": [2**32, 2**32]},
    "an axis that overflows": {"offset": 0, "shape": [0, 2**63]},
    "data besides": {"offset": 0, "shape": [1], "data": b"1234"},
    "no such type": {"offset": 0, "shape": [1], "data_type": 99},
    "a type of NumPy's": {"offset": 0, "shape": [1], "data_type": values_pb2.DATA_TYPE_NUMPY},
}


def lying(offset: int, **fields: Any) -> values_pb2.Tensor:
    tensor = values_pb2.Tensor(**{"data_type": FLOAT32, **fields})
    tensor.device.offset = offset
    return tensor


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("library", ["numpy", *INSTALLED])
def test_a_tensor_outside_of_its_part_is_refused(library: str, lie: str) -> None:
    memory = allocate(Identity(HOST), 2 * BYTES)
    arrays = SharedArrays(memory, range(BYTES), range(BYTES, 2 * BYTES), library=library)
    with pytest.raises(CodecError):
        arrays.take(lying(**LIES[lie]))


def lies(count: int) -> Iterator[values_pb2.Tensor]:
    """Tensors at random, around all the edges there are."""
    random = Random(1)
    edges = [
        0,
        1,
        3,
        64,
        255,
        256,
        BYTES - 1,
        BYTES,
        BYTES + 1,
        2**31,
        2**32,
        2**62,
        2**63,
        2**64 - 1,
    ]
    for _ in range(count):
        axes = random.choice([0, 1, 1, 2, 3, 40])
        shape = [
            random.choice(edges if random.random() < 0.4 else [0, 1, 2, 5]) for _ in range(axes)
        ]
        tensor = lying(random.choice([*edges, *range(0, BYTES + 1, 256)]), shape=shape)
        tensor.data_type = random.choice([*range(16), 99])  # type: ignore[assignment]
        tensor.device.library = random.choice(["", "", "numpy", "os", "x" * 1000])
        tensor.fill = random.random() < 0.05
        yield tensor


@pytest.mark.parametrize("library", ["numpy", *{"torch"}.intersection(INSTALLED)])
def test_a_tensor_at_random_is_refused_or_lies_inside(library: str) -> None:
    memory = allocate(Identity(HOST), 2 * BYTES)
    arrays = SharedArrays(memory, range(BYTES), range(BYTES, 2 * BYTES), library=library)
    inside = 0
    for tensor in lies(400):
        arrays.begin()
        with contextlib.suppress(CodecError):
            value = host(arrays.take(tensor))
            assert tensor.device.offset + value.nbytes <= BYTES
            assert value.shape == tuple(tensor.shape)
            inside += 1
    assert inside > 20


def test_arrays_that_lie_over_one_another_do_not_take_memory_without_end() -> None:
    """A message of a few bytes for each could otherwise stand for any number of copies."""
    memory = allocate(Identity(HOST), 2 * BYTES)
    arrays = SharedArrays(memory, range(BYTES), range(BYTES, 2 * BYTES), library="numpy")
    whole = lying(0, shape=[BYTES // 4])
    arrays.begin()
    for _ in range(2):
        arrays.take(whole)
    with pytest.raises(CodecError, match="together"):
        arrays.take(whole)
    arrays.begin()
    assert arrays.take(whole).nbytes == BYTES
    request = pb.InteractRequest()
    for _ in range(100):
        request.step.action.list.values.add().array.CopyFrom(whole)
    with pytest.raises(CodecError, match="together"):
        arrays.request_in_host_memory(request.SerializeToString(), own=False)


def test_arrays_that_do_not_fit_are_left_to_the_message() -> None:
    arrays = SharedArrays(allocate(Identity(HOST), 2 * BYTES), range(BYTES), range(BYTES))
    arrays.begin()
    for size, fits in ((BYTES // 4 - 64, True), (64, True), (1, False)):
        assert arrays.put(Own(np.zeros(size, np.float32)), values_pb2.Tensor()) is fits
    for value in (3, "text", np.zeros(2, "datetime64[s]"), object()):
        assert not arrays.put(value, values_pb2.Tensor())


def test_memory_that_is_smaller_or_may_shrink_is_refused() -> None:
    memory = allocate(Identity(HOST), BYTES)
    with pytest.raises(DeviceError):
        import_memory(Identity(HOST), memory.descriptor, 2 * BYTES)
    may_shrink = os.memfd_create("test", os.MFD_ALLOW_SEALING)
    os.truncate(may_shrink, BYTES)
    with pytest.raises(DeviceError, match="may shrink"):
        import_memory(Identity(HOST), may_shrink, BYTES)
    os.close(may_shrink)
    with open(os.devnull) as no_memory, pytest.raises(DeviceError):
        import_memory(Identity(HOST), no_memory.fileno(), BYTES)
    with pytest.raises(DeviceError, match="unknown here"):
        allocate(Identity(77), BYTES)


def test_capsules_are_freed_whether_they_are_taken_or_not() -> None:
    before = len(_given)
    elements = np.arange(6.0)
    give = (elements.ctypes.data, (2, 3), elements.dtype, (1, 0), elements)
    for _ in range(10):
        capsule_of(*give)  # nobody takes it

    class Giver:
        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

        def __dlpack__(self, **_: Any) -> object:
            return capsule_of(*give)

    taken = np.from_dlpack(Giver())  # type: ignore[arg-type]
    assert np.array_equal(taken, elements.reshape(2, 3))
    assert len(_given) == before + 1
    del taken
    assert borrow(Giver(), None).address == elements.ctypes.data
    assert len(_given) == before


class Client:
    """A client that says what it wants on a direct channel."""

    def __init__(self, made: pb.MakeResponse, device: direct_pb2.DeviceIdentity) -> None:
        address = next(each for each in made.direct.addresses if each.startswith(UNIX))
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(20.0)
        self._socket.connect("\0" + address.removeprefix(UNIX))
        owner = pb.SessionHeader(session_id=made.session_id, secret=made.secret)
        self._socket.sendall(b"envwire\x01")
        self._send(direct_pb2.HelloRequest(header=owner, device=device))
        data, self.descriptors, _, _ = socket.recv_fds(self._socket, 4096, 2)
        self.welcome = direct_pb2.HelloResponse.FromString(data[HEADER.size :]).welcome

    def _send(self, message: Any) -> None:
        raw = message.SerializeToString()
        self._socket.sendall(HEADER.pack(len(raw), 0, 0) + raw)

    def ask(self, request: pb.InteractRequest) -> pb.InteractResponse:
        self._send(request)
        length, _, attached = HEADER.unpack(self._socket.recv(HEADER.size, socket.MSG_WAITALL))
        message = self._socket.recv(length, socket.MSG_WAITALL)
        self._socket.recv(attached, socket.MSG_WAITALL)
        return pb.InteractResponse.FromString(message)

    def close(self) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)
        self._socket.close()


@pytest.fixture
def made(target: str) -> Iterator[pb.MakeResponse]:
    """A session of one environment, whose own client only made it."""
    with closing(RemoteEnv(target, ID)) as env:
        identity = env._handle.live().session.identity  # type: ignore[attr-defined]
        dialer = env._handle.live().transport._dialer  # type: ignore[attr-defined]
        answer = pb.MakeResponse(session_id=identity.session_id, secret=identity.secret)
        answer.direct.addresses.extend(dialer._addresses)
        yield answer


def step(number: int, tensor: values_pb2.Tensor) -> pb.InteractRequest:
    request = pb.InteractRequest()
    request.step.sequence = number
    request.step.action.array.CopyFrom(tensor)
    return request


HOST_DEVICE = direct_pb2.DeviceIdentity(kind=direct_pb2.DEVICE_KIND_HOST)


def test_a_lying_client_gets_errors_and_its_session_goes_on(made: pb.MakeResponse) -> None:
    with closing(Client(made, HOST_DEVICE)) as client:
        assert client.welcome.HasField("device_memory")
        reset = pb.InteractRequest(reset=pb.ResetRequest(sequence=1))
        answer = client.ask(reset)
        assert answer.reset.observation.dict.entries[0].value.array.HasField("device")
        room = client.welcome.device_memory.bytes - client.welcome.device_memory.answer_bytes
        number = 1
        for lie in LIES.values():
            number += 1
            shifted = {**lie, "offset": lie["offset"] and lie["offset"] - BYTES + room}
            if not 0 <= shifted["offset"] < 2**64 or "128" in str(lie["offset"]):
                shifted = lie
            refused = client.ask(step(number, lying(**shifted)))
            assert "INVALID_VALUE" in str(refused.error.details[0].value)
        fine = client.ask(step(number + 1, lying(0, shape=[3])))
        assert fine.WhichOneof("response") == "step"


@pytest.mark.parametrize(
    "device",
    [
        direct_pb2.DeviceIdentity(),
        direct_pb2.DeviceIdentity(kind=77),  # type: ignore[arg-type]
        direct_pb2.DeviceIdentity(kind=direct_pb2.DEVICE_KIND_HOST, uuid=b"long"),
        direct_pb2.DeviceIdentity(kind=direct_pb2.DEVICE_KIND_CUDA, uuid=b"short"),
        direct_pb2.DeviceIdentity(kind=direct_pb2.DEVICE_KIND_CUDA, uuid=bytes(16)),
    ],
)
def test_devices_that_nobody_has_are_not_offered(
    made: pb.MakeResponse, device: direct_pb2.DeviceIdentity
) -> None:
    with closing(Client(made, device)) as client:
        assert not client.welcome.HasField("device_memory")
        assert not client.descriptors
        answer = client.ask(pb.InteractRequest(reset=pb.ResetRequest(sequence=1)))
        assert answer.reset.observation.dict.entries[0].value.array.data


def test_a_kept_answer_has_its_arrays_on_any_connection(made: pb.MakeResponse) -> None:
    reset = pb.InteractRequest(reset=pb.ResetRequest(sequence=1))
    with closing(Client(made, HOST_DEVICE)) as client:
        first = client.ask(reset)
    with closing(Client(made, HOST_DEVICE)) as client:
        assert client.ask(reset) == first
    with closing(Client(made, direct_pb2.DeviceIdentity())) as client:
        again = client.ask(reset)
    tensor = again.reset.observation.dict.entries[0].value.array
    assert len(tensor.data) == 12
    assert not tensor.HasField("device")


@pytest.mark.parametrize("lie", ["bytes", "answers", "descriptor"])
def test_a_lying_server_is_left_for_the_host(
    target: str, lie: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from envwire.client._session.client_device import ClientDevice

    receive = ClientDevice.receive

    def lied(self: ClientDevice, welcome: Any, descriptor: int | None) -> None:
        if lie == "bytes":
            welcome.device_memory.bytes *= 2
        elif lie == "answers":
            welcome.device_memory.answer_bytes = welcome.device_memory.bytes
        else:
            descriptor = None
        receive(self, welcome, descriptor)

    monkeypatch.setattr(ClientDevice, "receive", lied)
    with closing(RemoteVectorEnv(target, ID, 4, **NATIVE)) as env:
        observation, _ = env.reset(seed=3)
        device = env._shards[0].handle.driver.session._device
        assert device.why_not
        assert not device.shares
        assert type(observation) is np.ndarray
        env.step(to("own", np.zeros((4, 3), np.float32)))
