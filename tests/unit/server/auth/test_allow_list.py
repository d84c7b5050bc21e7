"""Only listed ids, arguments and wrappers are allowed."""

from __future__ import annotations

import pytest

from envwire.codec import FaultError, Reason, encode_mapping
from envwire.server import ServerConfig
from envwire.server._auth.allow_list import AllowList, read_allowed
from envwire.v1 import environment_pb2 as pb


def ask(
    env_id: str = "A-v0", wrappers: dict[str, dict[str, int]] | None = None, **kwargs: int
) -> pb.MakeRequest:
    request = pb.MakeRequest(env_id=env_id)
    encode_mapping(kwargs, request.kwargs)
    for name, wrapper_kwargs in (wrappers or {}).items():
        encode_mapping(wrapper_kwargs, request.wrappers.add(name=name).kwargs)
    return request


def public(*allow_kwargs: str, allow_wrappers: tuple[str, ...] = ()) -> AllowList:
    return AllowList(False, read_allowed(allow_kwargs), frozenset(allow_wrappers))


@pytest.mark.parametrize(
    ("allow_list", "request_", "refused"),
    [
        (AllowList(), ask(size=1), None),
        (public(), ask(), None),
        (public(), ask(size=1), Reason.KWARGS_NOT_ALLOWED),
        (public("size,depth"), ask(size=1, depth=2), None),
        (public("A-v0=size"), ask(size=1), None),
        (public("A-v0=size"), ask("B-v0", size=1), Reason.KWARGS_NOT_ALLOWED),
        (
            public(),
            ask(wrappers={"TimeLimit": {"max_episode_steps": 1}}),
            Reason.KWARGS_NOT_ALLOWED,
        ),
        (
            public("TimeLimit=max_episode_steps"),
            ask(wrappers={"TimeLimit": {"max_episode_steps": 1}}),
            None,
        ),
        (AllowList(), pb.MakeRequest(render_mode="human"), None),
        (public(), pb.MakeRequest(render_mode="human"), Reason.KWARGS_NOT_ALLOWED),
        (public(), pb.MakeRequest(render_mode="rgb_array"), None),
        (public("render_mode:{human}"), pb.MakeRequest(render_mode="human"), None),
        (
            public("render_mode:{ansi}"),
            pb.MakeRequest(render_mode="human"),
            Reason.KWARGS_NOT_ALLOWED,
        ),
        (AllowList(), ask(wrappers={"NumpyToTorch": {}}), None),
        (public(), ask(wrappers={"NumpyToTorch": {}}), Reason.WRAPPER_NOT_ALLOWED),
        (public(), ask(wrappers={"ArrayConversion": {}}), Reason.WRAPPER_NOT_ALLOWED),
        (public(allow_wrappers=("NumpyToTorch",)), ask(wrappers={"NumpyToTorch": {}}), None),
        (AllowList(), ask(wrappers={"m:C": {}}), Reason.WRAPPER_NOT_ALLOWED),
        (AllowList(), ask(wrappers={"RecordVideo": {}}), Reason.WRAPPER_NOT_ALLOWED),
        (AllowList(), ask(wrappers={"gymnasium.wrappers:TimeLimit": {}}), None),
        (
            AllowList(),
            ask(wrappers={"gymnasium.wrappers:RecordVideo": {}}),
            Reason.WRAPPER_NOT_ALLOWED,
        ),
        (AllowList(), ask(wrappers={"gymnasium.wrappers:x.y": {}}), Reason.WRAPPER_NOT_ALLOWED),
        (AllowList(), ask(wrappers={"gymnasium.wrappers.x:C": {}}), Reason.WRAPPER_NOT_ALLOWED),
        (
            public("TimeLimit=max_episode_steps"),
            ask(wrappers={"gymnasium.wrappers:TimeLimit": {"max_episode_steps": 1}}),
            None,
        ),
        (
            public(allow_wrappers=("m:C", "RecordVideo")),
            ask(wrappers={"m:C": {}, "RecordVideo": {}}),
            None,
        ),
    ],
)
def test_lists(allow_list: AllowList, request_: pb.MakeRequest, refused: Reason | None) -> None:
    if refused is None:
        allow_list.check(request_)
        return
    with pytest.raises(FaultError) as fault:
        allow_list.check(request_)
    assert fault.value.reason is refused


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_loopback_is_free(host: str) -> None:
    assert AllowList.of(ServerConfig(("A-v0",), host=host)).any_kwargs


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org"])
def test_other_addresses_need_a_word(host: str) -> None:
    with pytest.raises(ValueError, match="--insecure"):
        ServerConfig(("A-v0",), host=host)
    assert not AllowList.of(ServerConfig(("A-v0",), host=host, insecure=True)).any_kwargs


@pytest.mark.parametrize("settings", [{"max_sessions": 0}, {"lease": -1.0}, {"environments": ()}])
def test_settings_that_cannot_work(settings: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"must be more|nothing to serve"):
        ServerConfig(**{"environments": ("A-v0",), **settings})  # type: ignore[arg-type]


def test_settings_travel_as_json() -> None:
    config = ServerConfig(("A-v0", "B/*"), imports=("m",), lease=1.5, allow_kwargs=("x",))
    assert ServerConfig.from_json(config.to_json()) == config
