"""The page's application: its key, its headers, its bounds."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple

import pytest

from envwire.client import Credentials
from envwire.dashboard.app import Dashboard
from envwire.dashboard.channels import Channels
from envwire.dashboard.watching import Watcher
from envwire.observe.v1 import observe_pb2 as pb

KEY = "the-key"


class Answer(NamedTuple):
    """The application's answer."""

    status: int
    headers: dict[str, str]
    body: bytes


def ask(
    path: str, authorization: str = f"Bearer {KEY}", body: bytes = b"", query: str = ""
) -> Answer:
    """Calls the application as a server would; of a stream it takes the first part."""
    channels = Channels(Credentials(token=None))
    watcher = Watcher(["a:1"], channels)
    watcher.fleet.server("a:1").take(
        pb.WatchResponse(
            server=pb.ServerStatus(incarnation="x", now=2.0, max_sessions=1),
            sessions=[pb.SessionStatus(session_id="one", env_id="CartPole-v1")],
        )
    )
    app = Dashboard(watcher, channels).app(KEY)
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST" if body else "GET",
        "path": path,
        "query_string": query.encode(),
        "headers": [(b"authorization", authorization.encode())],
        "http_version": "1.1",
    }
    sent: list[Any] = []

    async def receive() -> Any:
        if body and not sent:
            return {"type": "http.request", "body": body, "more_body": False}
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(asyncio.wait_for(app(scope, receive, send), 60.0))
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    content = b"".join(each.get("body", b"") for each in sent[1:])
    return Answer(sent[0]["status"], headers, content)


@pytest.mark.parametrize(
    "path", ["/api/farm", "/api/sessions", "/api/session", "/api/wall", "/api/no"]
)
@pytest.mark.parametrize(
    "authorization", ["", "Bearer ", "Bearer wrong", KEY, f"bearer {KEY}", "é"]
)
def test_everything_takes_the_key(path: str, authorization: str) -> None:
    answer = ask(path, authorization)
    assert answer.status == 401
    assert b"CartPole" not in answer.body


@pytest.mark.parametrize("path", ["/", "/main.js", "/style.css", "/api/sessions", "/none"])
def test_every_answer_forbids_foreign_scripts(path: str) -> None:
    policy = ask(path).headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'" in policy
    assert "unsafe" not in policy


def test_the_table() -> None:
    answer = ask("/api/sessions", query="sort=steps")
    assert [row["id"] for row in json.loads(answer.body)["rows"]] == ["one"]


@pytest.mark.parametrize(
    ("path", "query", "body"),
    [
        ("/api/sessions", "sort=none", b""),
        ("/api/session", "server=elsewhere:1&id=one", b""),
        ("/api/wall", "tile=elsewhere:1/one", b""),
        ("/api/wall", "", b""),
        ("/api/end", "", b'{"server": "elsewhere:1", "id": "one"}'),
        ("/api/drain", "", b'{"server": "elsewhere:1"}'),
        ("/api/end", "", b"[]"),
        ("/api/end", "", b"x" * 5000),
        ("/api/end", "", b"[" * 4096),
        ("/api/end", "", b'{"server": "a:1", "id": {}}'),
    ],
)
def test_other_servers_and_nonsense_are_refused(path: str, query: str, body: bytes) -> None:
    answer = ask(path, query=query, body=body)
    assert answer.status == 400
    assert json.loads(answer.body)["error"]


@pytest.mark.parametrize("path", ["/../app.py", "/%2e%2e/app.py", "//etc/passwd"])
def test_no_other_file_is_served(path: str) -> None:
    assert ask(path).status == 404
