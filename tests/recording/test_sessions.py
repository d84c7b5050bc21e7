"""Recordings of a server: what the files contain, with any transport, and what they do not contain."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from envwire.client import Credentials, RemoteEnv, RemoteVectorEnv, SessionLostError
from envwire.codec import Reason, decode_fault, decode_space, decode_value, envwire_family
from envwire.server import Server, ServerError
from envwire.server._auth.scopes import Scope
from envwire.server._recording.files import SUFFIX, Exchange, RecordedSession, path_of
from envwire.testing.comparing import identical
from envwire.v1 import environment_pb2 as pb
from tests.conftest import ROOT, SETTINGS
from tests.hosted_envs import Fault
from tests.secured import write_tokens
from tests.security.stranger import PATH
from tests.tiers import first

HOSTED = ["tests/*", "CartPole-v1", "Pendulum-v1"]
TRANSPORTS = pytest.mark.parametrize("transport", first(["direct", "stream", "unary"], 2))


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recordings") / "new"


@pytest.fixture(scope="module")
def server(directory: Path) -> Iterator[Server]:
    with Server(HOSTED, record=directory, **SETTINGS) as running:
        yield running


@pytest.fixture(scope="module")
def brief(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    """A server whose recordings are soon full, and where it puts them."""
    folder = tmp_path_factory.mktemp("brief")
    with Server(["CartPole-v1"], record=folder, record_max_session_bytes=2000) as running:
        yield running, folder


@pytest.fixture
def recorded(directory: Path) -> Callable[[str], RecordedSession]:
    return lambda name: RecordedSession(path_of(directory, name))


@pytest.fixture
def closed(recorded: Callable[[str], RecordedSession]) -> Callable[[RemoteEnv], RecordedSession]:
    def close(env: RemoteEnv) -> RecordedSession:
        name = env.recorded_as
        env.close()
        return recorded(name)

    return close


def kinds(exchanges: list[Exchange]) -> list[str]:
    return [exchange.kind for exchange in exchanges]


def observation(exchange: Exchange) -> Any:
    assert exchange.response is not None
    body = getattr(exchange.response, exchange.kind)
    return decode_value(body.observation, envwire_family())


@TRANSPORTS
def test_all_that_was_asked_and_answered_is_there(
    server: Server, closed: Any, transport: str
) -> None:
    env = RemoteEnv(server.target, "Pendulum-v1", transport=transport, render_mode="rgb_array")
    seen = [env.reset(seed=3)[0]]
    env.action_space.seed(3)
    seen += [env.step(env.action_space.sample())[0] for _ in range(5)]
    frame = env.render()
    env.get_wrapper_attr("g")
    recording = closed(env)
    exchanges = list(recording.exchanges())
    assert kinds(exchanges) == ["reset", *["step"] * 5, "render", "get_attribute", "close"]
    assert identical([observation(exchange) for exchange in exchanges[:6]], seen)
    rendered = exchanges[6].response
    assert rendered is not None
    assert np.array_equal(decode_value(rendered.render.frame, envwire_family()), frame)
    assert recording.ending == "closed by its client"
    header = recording.header
    assert (header.make.env_id, header.made.library) == ("Pendulum-v1", "envwire")
    space = decode_space(header.made.observation_space, envwire_family())
    assert space == env.observation_space
    assert {"envwire", "python", "numpy"} <= {each.name for each in header.versions}


def test_a_chunk_is_there(server: Server, closed: Any) -> None:
    env = RemoteEnv(server.target, "CartPole-v1")
    env.reset(seed=1)
    steps = env.step_many([0, 1, 0])
    chunk = list(closed(env).exchanges())[1]
    assert len(chunk.request.step.actions) == 3
    assert chunk.response is not None
    assert len(chunk.response.step.steps) == len(steps)


def test_a_vector_environment_is_recorded_session_by_session(
    server: Server, directory: Path
) -> None:
    before = set(directory.glob(f"*{SUFFIX}"))
    envs = RemoteVectorEnv(server.target, "CartPole-v1", num_envs=4)
    seen, _ = envs.reset(seed=7)
    envs.close()
    files = [RecordedSession(path) for path in set(directory.glob(f"*{SUFFIX}")) - before]
    rows = [observation(next(file.exchanges())) for file in files]
    assert sum(file.header.make.vector.num_envs for file in files) == 4
    for row in np.concatenate(rows):
        assert any(np.array_equal(row, other) for other in seen)


def test_only_the_operator_can_read_it(server: Server, directory: Path) -> None:
    env = RemoteEnv(server.target, "CartPole-v1")
    file = path_of(directory, env.recorded_as)
    env.close()
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(directory).st_mode) == 0o700


def test_a_repeated_request_is_recorded_once(server: Server, recorded: Any) -> None:
    with grpc.insecure_channel(server.target) as channel:

        def ask(method: str, request: Any, answer: Any) -> Any:
            return answer.FromString(
                channel.unary_unary(PATH + method)(request.SerializeToString(), timeout=20)
            )

        make = pb.MakeRequest(env_id="CartPole-v1", request_id=bytes(range(16)))
        made = ask("Make", make, pb.MakeResponse)
        header = pb.SessionHeader(session_id=made.session_id, secret=made.secret)
        reset = pb.ResetRequest(header=header, sequence=1)
        first, second = (ask("Reset", reset, pb.ResetResponse) for _ in range(2))
        assert first == second
        ask("Close", pb.CloseRequest(header=header, sequence=2), pb.CloseResponse)
    assert kinds(list(recorded(made.recording).exchanges())) == ["reset", "close"]


def test_no_secret_reaches_the_disk(tmp_path: Path) -> None:
    tokens = write_tokens(tmp_path / "tokens", {"alice": [Scope.PLAY]})
    name, directory = bytes(range(100, 116)), tmp_path / "recordings"
    with Server(
        ["CartPole-v1"], record=directory, tokens=tmp_path / "tokens", insecure=True
    ) as server:
        credentials = Credentials(token=tokens["alice"])
        env = RemoteEnv(server.target, "CartPole-v1", credentials=credentials, on_lost="replay")
        env.reset(seed=1)
        session: Any = env._handle.driver  # pyright: ignore[reportPrivateUsage]
        identity = session.session.identity
        with grpc.insecure_channel(server.target) as channel:
            copy = pb.MakeRequest(request_id=name)
            copy.copy_of.CopyFrom(identity)
            metadata = (("authorization", f"Bearer {tokens['alice']}"),)
            channel.unary_unary(f"{PATH}Make")(
                copy.SerializeToString(), timeout=20, metadata=metadata
            )
            foreign = pb.InteractRequest(
                step=pb.StepRequest(header=pb.SessionHeader(secret=b"secret of another"))
            )
            foreign.step.action.int_value = 1
            replay = pb.ReplayRequest(sequence=2, requests=[foreign.SerializeToString()])
            replay.header.CopyFrom(identity)
            channel.unary_unary(f"{PATH}Replay")(
                replay.SerializeToString(), timeout=20, metadata=metadata
            )
        kept = list(directory.glob(f"*{SUFFIX}"))
    assert len(kept) == 2
    content = b"".join(path.read_bytes() for path in kept)
    assert b"step" not in content  # kinds are numbers: the bytes below would be found as they are
    for secret in (
        identity.secret,
        tokens["alice"].encode(),
        name,
        b"secret of another",
        identity.session_id.encode(),
    ):
        assert secret not in content
    recordings = [RecordedSession(path) for path in kept]
    (origin,) = (each for each in recordings if not each.header.copy_of)
    assert kinds(list(origin.exchanges())) == ["reset", "step", "replay"]


def test_a_copy_has_a_recording_that_goes_on_from_its_origin(server: Server, closed: Any) -> None:
    env = RemoteEnv(server.target, "CartPole-v1")
    env.reset(seed=1)
    env.step(0)
    copy = env.fork()
    seen = [env.step(1)[0], copy.step(0)[0]]
    histories = [list(closed(each).exchanges()) for each in (env, copy)]
    assert [kinds(history) for history in histories] == [["reset", "step", "step", "close"]] * 2
    assert identical([observation(history[2]) for history in histories], seen)


def test_a_copy_of_a_copy_goes_on_from_both(server: Server, closed: Any) -> None:
    env = RemoteEnv(server.target, "CartPole-v1")
    env.reset(seed=1)
    env.step(0)
    copy = env.fork()
    copy.step(1)
    copied = copy.fork()
    seen = copied.step(0)[0]
    histories = [list(closed(each).exchanges()) for each in (copied, copy, env)]
    assert list(map(kinds, histories)) == [
        ["reset", "step", "step", "step", "close"],
        ["reset", "step", "step", "close"],
        ["reset", "step", "close"],
    ]
    assert identical(observation(histories[0][3]), seen)


def test_a_copy_is_not_recorded_behind_what_its_origin_lacks(brief: tuple[Server, Path]) -> None:
    server, folder = brief
    env = RemoteEnv(server.target, "CartPole-v1")
    for seed in range(50):
        env.reset(seed=seed)
    copy = env.fork()
    assert (copy.recorded_as, copy.step(0)[1]) == ("", 1.0)
    name = env.recorded_as
    copy.close()
    env.close()
    *_, last = RecordedSession(path_of(folder, name)).exchanges()
    assert last.kind == "reset"


def test_the_request_that_ends_a_process_is_the_last(server: Server, recorded: Any) -> None:
    env = RemoteEnv(server.target, "tests/Faulty-v0")
    env.reset(seed=1)
    name = env.recorded_as
    with pytest.raises(SessionLostError):
        env.step(Fault.ABORT)
    recording = recorded(name)
    *_, last = recording.exchanges()
    assert decode_value(last.request.step.action, envwire_family()) == Fault.ABORT
    assert last.response is None
    assert recording.ending.startswith("not ended")


def test_errors_are_recorded(server: Server, closed: Any) -> None:
    env = RemoteEnv(server.target, "tests/Faulty-v0")
    env.reset(seed=1)
    with pytest.raises(ValueError, match="wheel"):
        env.step(Fault.RAISE)
    raised = list(closed(env).exchanges())[1].response
    assert raised is not None
    fault = decode_fault(raised.error, envwire_family())
    assert fault.reason is Reason.ENVIRONMENT_RAISED


def test_a_full_recording_ends_and_the_session_goes_on(brief: tuple[Server, Path]) -> None:
    server, folder = brief
    env = RemoteEnv(server.target, "CartPole-v1")
    env.reset(seed=1)
    for _ in range(200):
        if env.step(0)[2]:
            env.reset()
    name = env.recorded_as
    env.close()
    recording = RecordedSession(path_of(folder, name))
    assert 5 < len(list(recording.exchanges())) < 50
    assert recording.ending.startswith("full")
    assert recording.path.stat().st_size < 2100


def test_what_was_not_begun_leaves_no_file(tmp_path: Path) -> None:
    """Neither of an environment that cannot be made, nor without space for the first entry."""
    with Server(HOSTED, record=tmp_path, record_max_session_bytes=10, **SETTINGS) as server:
        with pytest.raises(TypeError):
            RemoteEnv(server.target, "CartPole-v1", no_such_argument=1)
        env = RemoteEnv(server.target, "CartPole-v1")
        assert (env.recorded_as, env.reset(seed=1)[1]) == ("", {})
        env.close()
        assert list(tmp_path.iterdir()) == []


def test_a_session_goes_on_where_no_file_can_be_created(tmp_path: Path) -> None:
    with Server(HOSTED, record=tmp_path / "folder", **SETTINGS) as server:
        (tmp_path / "folder").rmdir()
        env = RemoteEnv(server.target, "CartPole-v1")
        assert (env.recorded_as, env.reset(seed=1)[1]) == ("", {})
        env.close()


def test_what_the_operator_named_is_left_out(tmp_path: Path) -> None:
    with Server(
        HOSTED, record=tmp_path, record_redact=["grav*", "map_name", "api_key"], **SETTINGS
    ) as server:
        env = RemoteEnv(server.target, "CartPole-v1", wrappers=["TimeAwareObservation"])
        env.reset(seed=1, options={"api_key": "hush-hush", "low": -0.02, "high": 0.02})
        env.set_wrapper_attr("gravity", 12.625)
        assert env.get_wrapper_attr("gravity") == 12.625
        name = env.recorded_as
        env.close()
    recording = RecordedSession(path_of(tmp_path, name))
    assert list(recording.header.redacted) == ["grav*", "map_name", "api_key"]
    content = recording.path.read_bytes()
    assert b"hush-hush" not in content
    assert np.float64(12.625).tobytes() not in content
    assert content.count(b"[redacted]") == 3  # the option, the gravity, and the description
    reset = next(recording.exchanges())
    options = {
        entry.name: entry.value.WhichOneof("kind") for entry in reset.request.reset.options.entries
    }
    assert options == {"api_key": "string_value", "low": "float_value", "high": "float_value"}


def test_packed_sessions_have_a_recording_each(tmp_path: Path) -> None:
    with Server(["CartPole-v1"], record=tmp_path, sessions_per_process=4) as server:
        made = [RemoteEnv(server.target, "CartPole-v1") for _ in range(3)]
        for number, env in enumerate(made):
            env.reset(seed=number)
        names = [env.recorded_as for env in made]
        for env in made:
            env.close()
    firsts = [next(RecordedSession(path_of(tmp_path, name)).exchanges()) for name in names]
    assert [first.request.reset.seed.int_value for first in firsts] == [0, 1, 2]


def test_two_servers_share_a_directory(server: Server, directory: Path) -> None:
    before = len(list(directory.iterdir()))
    with Server(["CartPole-v1"], record=directory) as other:
        made = [RemoteEnv(each.target, "CartPole-v1") for each in (server, other)]
        names = {env.recorded_as for env in made}
        for env in made:
            env.close()
    assert len(names) == len(list(directory.iterdir())) - before == 2


def test_an_environment_that_goes_elsewhere_is_recorded_where_the_operator_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings: dict[str, Any] = {"imports": ["tests.recording.wandering"], "sys_path": [ROOT]}
    with Server(["wandering/*"], record="here", **settings) as server:
        env = RemoteEnv(server.target, "wandering/Wandering-v0")
        name = env.recorded_as
        env.reset(seed=1)
        env.close()
    recording = RecordedSession(path_of(tmp_path / "here", name))
    assert kinds(list(recording.exchanges())) == ["reset", "close"]


def test_a_server_that_cannot_record_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ServerError, match="Not a directory"):
        Server(["CartPole-v1"], record=tmp_path / "file" / "here").start()
