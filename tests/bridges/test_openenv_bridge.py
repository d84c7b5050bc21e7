"""The bridge for OpenEnv, spoken to in its wire: the values are those of a RemoteEnv, the codes those of OpenEnv."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the bridge is an extra")

from websockets.exceptions import ConnectionClosed

from envwire.client import RemoteEnv
from envwire.server import Server, ServerError
from envwire.server._auth.scopes import Scope
from tests.bridges.talk import Talk, free_port, strictly, talk
from tests.conftest import SETTINGS
from tests.secured import write_tokens

_SETTINGS: dict[str, Any] = {
    "imports": ["tests.bridges.hosted_text"],
    "sys_path": SETTINGS["sys_path"],
}


class Bridged:
    """A server with a bridge."""

    def __init__(self, **settings: Any) -> None:
        port = free_port()
        self.base = f"http://127.0.0.1:{port}"
        self.server = Server(["CartPole-v1", "tests/*"], openenv=port, **_SETTINGS, **settings)

    def url(self, env_id: str) -> str:
        return f"{self.base}/{env_id}"


@pytest.fixture(scope="module")
def bridged() -> Iterator[Bridged]:
    one = Bridged()
    with one.server:
        yield one


def test_values_are_those_of_a_remote_env(bridged: Bridged) -> None:
    env = RemoteEnv(bridged.server.target, "CartPole-v1")
    with talk(bridged.url("CartPole-v1")) as there:
        seen = there.ask("reset", seed=42)
        assert seen["observation"] == {"value": env.reset(seed=42)[0].tolist()}
        assert (seen["reward"], seen["done"]) == (None, False)
        for number in count(1):
            seen = there.ask("step", value=number % 2)
            observation, reward, terminated, truncated, info = env.step(number % 2)
            assert seen == {
                "observation": {"value": observation.tolist()},
                "reward": reward,
                "done": terminated or truncated,
                "metadata": {"terminated": terminated, "truncated": truncated, "info": info},
            }
            if seen["done"]:
                break
        assert there.ask("state") == {"episode_id": None, "step_count": number}
    env.close()


def test_numbers_that_json_lacks_are_texts(bridged: Bridged) -> None:
    with talk(bridged.url("tests/Infinite-v0")) as there:
        seen = there.ask("reset")
        assert seen["observation"] == {"value": ["NaN", "Infinity", 1.0]}
        assert seen["metadata"]["info"] == {"3": 2**63, "least": "-Infinity"}
        seen = there.ask("step", value=["-Infinity", 2, "NaN"])
        assert seen["observation"] == {"value": ["-Infinity", 2.0, "NaN"]}
        assert (seen["reward"], seen["metadata"]["info"]) == ("-Infinity", {"nested": ["NaN"]})
    with urllib.request.urlopen(f"{bridged.url('tests/Infinite-v0')}/schema") as answer:
        strictly(answer.read())


def test_texts_and_dictionaries_stay_what_they_are(bridged: Bridged) -> None:
    with talk(bridged.url("tests/Echo-v0")) as there:
        seen = there.ask("reset", seed=3, episode_id="one", options={"greeting": "hello"})
        assert seen["observation"] == {"said": "hello", "length": 5}
        assert seen["metadata"]["info"] == {"seed": 3}
        seen = there.ask("step", text="abc", loudness=[0.25, 0.5], metadata={"from": "a model"})
        assert seen["observation"] == {"said": "abc", "length": 3}
        assert (seen["reward"], seen["done"]) == (0.75, False)
        assert there.ask("step", text="stop", loudness=[0, 0])["done"] is True
        assert there.ask("state") == {"episode_id": "one", "step_count": 2}


@pytest.mark.parametrize(
    ("env_id", "code", "says"),
    [("Nope-v0", "FACTORY_ERROR", "is not served here"), ("", "FACTORY_ERROR", "base URL")],
)
def test_an_environment_that_there_is_not(
    bridged: Bridged, env_id: str, code: str, says: str
) -> None:
    with talk(bridged.url(env_id).rstrip("/")) as there:
        refused = there.ask("reset")
        assert refused["code"] == code
        assert says in refused["message"]
        with pytest.raises(ConnectionClosed):
            there.connection.recv(timeout=30)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "INVALID_JSON"),
        ("[]", "VALIDATION_ERROR"),
        ('{"type": "reset", "data": 1}', "VALIDATION_ERROR"),
        ('{"type": "dance"}', "UNKNOWN_TYPE"),
        ('{"type": "step", "data": {}}', "VALIDATION_ERROR"),
        ('{"type": "step", "data": {"value": "left"}}', "VALIDATION_ERROR"),
        ('{"type": "step", "data": {"value": 7}}', "EXECUTION_ERROR"),
        ('{"type": "reset", "data": {"seed": "x"}}', "EXECUTION_ERROR"),
    ],
)
def test_a_wrong_message_is_answered_and_the_session_goes_on(
    bridged: Bridged, text: str, code: str
) -> None:
    with talk(bridged.url("CartPole-v1")) as there:
        there.ask("reset", seed=1)
        answer = there.say(text)
        assert (answer["type"], answer["data"]["code"]) == ("error", code)
        assert there.ask("step", value=1)["reward"] == 1.0


def test_what_the_environment_raises_is_named(bridged: Bridged) -> None:
    with talk(bridged.url("tests/Echo-v0")) as there:
        there.ask("reset")
        refused = there.ask("step", text="raise", loudness=[0, 0])
        assert refused == {"code": "EXECUTION_ERROR", "message": "RuntimeError: asked to raise"}
        assert there.ask("step", text="on", loudness=[0, 0])["observation"]["said"] == "on"


def test_a_web_page_is_refused(bridged: Bridged) -> None:
    with (
        talk(bridged.url("CartPole-v1"), Origin="https://example.com") as there,
        pytest.raises(ConnectionClosed),
    ):
        there.ask("reset")


@pytest.mark.parametrize("headers", [{"Origin": "https://example.com"}, {"Host": "example.com"}])
def test_a_web_page_makes_no_environment_to_describe(
    bridged: Bridged, headers: dict[str, str]
) -> None:
    with pytest.raises(urllib.error.HTTPError, match="403"):
        _get(urllib.request.Request(f"{bridged.url('CartPole-v1')}/schema", headers=headers))


def _reset_when_free(base: str) -> dict[str, Any]:
    """Returns the result of a reset once there is a free slot; the test's own timeout ends the wait."""
    while True:
        with talk(base) as there:
            seen = there.ask("reset", seed=1)
        if seen.get("code") != "CAPACITY_REACHED":
            return seen


def test_a_full_server_says_so_and_a_client_that_goes_makes_room() -> None:
    full = Bridged(max_sessions=1)
    url = full.url("CartPole-v1")
    with full.server:
        with talk(url) as first:
            first.ask("reset")
            with talk(url) as second:
                assert second.ask("reset")["code"] == "CAPACITY_REACHED"
            assert first.ask("step", value=0)["reward"] == 1.0
            first.connection.socket.close()  # without a word
        assert _reset_when_free(url)["reward"] is None


def test_a_silent_connection_is_closed() -> None:
    short = Bridged(lease=0.5, max_lease=0.5)
    with short.server, talk(short.url("CartPole-v1")) as there:
        there.ask("reset")
        with pytest.raises(ConnectionClosed):
            there.connection.recv(timeout=30)


def _code(there: Talk) -> str | None:
    return there.ask("reset").get("code")


def test_the_token_is_the_clients_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "tokens"
    tokens = write_tokens(file, {"player": [Scope.PLAY]})
    monkeypatch.setenv("ENVWIRE_TOKEN", tokens["player"])  # the operator's, in the bridge's process
    guarded = Bridged(tokens=file)
    url = guarded.url("CartPole-v1")
    with guarded.server:
        with talk(url, Authorization=f"Bearer {tokens['player']}") as there:
            assert _code(there) is None
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer \u00e9"}):
            with talk(url, **headers) as there:
                assert _code(there) in {"SESSION_ERROR", "FACTORY_ERROR"}


def _get(url: str | urllib.request.Request) -> Any:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)


def test_schemas_are_those_of_the_spaces(bridged: Bridged) -> None:
    schema = _get(f"{bridged.url('CartPole-v1')}/schema")
    assert schema["action"]["properties"]["value"] == {
        "type": "integer",
        "minimum": 0,
        "maximum": 1,
    }
    observed = _get(f"{bridged.url('tests/Echo-v0')}/schema")["observation"]
    assert observed["required"] == ["length", "said"]
    with pytest.raises(urllib.error.HTTPError, match="404"):
        _get(f"{bridged.url('Nope-v0')}/schema")


def test_a_taken_port_is_one_sentence(bridged: Bridged) -> None:
    taken = int(bridged.base.rpartition(":")[2])
    with pytest.raises(ServerError, match=f"cannot bind 127.0.0.1:{taken} for --openenv"):
        Server(["CartPole-v1"], openenv=taken).start()


def test_certificates_of_clients_do_not_pass_a_bridge() -> None:
    with pytest.raises(ValueError, match="--openenv does not go with --tls-client-ca"):
        Server(["CartPole-v1"], openenv=1, tls_cert="a", tls_key="b", tls_client_ca="c")
