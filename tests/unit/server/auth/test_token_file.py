"""A token file may be edited in any way: a token that is missing for a moment stays valid."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from envwire.server import ServerConfig
from envwire.server._auth.access import Access
from envwire.server._auth.reloading import SETTLE_SECONDS
from envwire.server._auth.scopes import Scope, ServerPatterns
from envwire.server._auth.tokens import TokenFile, new_token, read_tokens
from tests.secured import write_tokens

PLAYERS = {"alice": [Scope.PLAY], "bob": [Scope.PLAY]}


class Clock:
    """A clock that the test moves."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now

    def rest(self, part: float = 1.0) -> None:
        self.now += part * SETTLE_SECONDS


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens"


def names(file: TokenFile) -> set[str]:
    return {token.name for token in file.tokens()}


def test_a_file_that_is_rewritten_in_place_loses_nobody(path: Path, clock: Clock) -> None:
    write_tokens(path, PLAYERS)
    text = path.read_text()
    file = TokenFile(str(path), clock)
    first = file.tokens()
    for size in (0, 90, len(text) - 1, len(text)) * 50:
        path.write_text(text[:size])
        assert file.tokens() == first
        clock.rest(0.9)
        assert file.tokens() == first


def test_what_is_gone_is_believed_once_the_file_has_rested(path: Path, clock: Clock) -> None:
    write_tokens(path, PLAYERS)
    file = TokenFile(str(path), clock)
    path.write_text(path.read_text().replace("alice", "# alice"))
    assert names(file) == {"alice", "bob"}
    clock.rest()
    assert names(file) == {"bob"}
    assert file.tokens() is file.tokens()


def test_what_is_new_or_changed_counts_at_once(path: Path, clock: Clock) -> None:
    old = write_tokens(path, PLAYERS)
    file = TokenFile(str(path), clock)
    new = write_tokens(path, {"alice": [Scope.OBSERVE], "carol": [Scope.PLAY]})
    found = file.find(new["alice"])
    assert found is not None
    assert found.scopes == {Scope.OBSERVE}
    assert not file.find(old["alice"])
    assert file.find(new["carol"])
    assert file.find(old["bob"])  # for the moment


def test_two_changes_within_one_tick_of_the_file_system(path: Path, clock: Clock) -> None:
    write_tokens(path, PLAYERS)
    text = path.read_text()
    path.write_text(text.replace("alice", "clara"))
    file = TokenFile(str(path), clock)
    seen = path.stat()
    path.write_text(text.replace("alice", "sarah"))
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    clock.rest()
    assert names(file) == {"sarah", "bob"}


@pytest.mark.parametrize("scopes", [[], [Scope.OBSERVE]])
def test_who_may_no_longer_play_is_revoked(path: Path, clock: Clock, scopes: list[Scope]) -> None:
    write_tokens(path, PLAYERS)
    access = Access(ServerConfig(("*",), tokens=str(path)), clock)
    assert not access.revoked("token alice")
    write_tokens(path, {"bob": [Scope.PLAY]} | ({"alice": scopes} if scopes else {}))
    assert access.revoked("token alice") is bool(scopes)
    clock.rest()
    assert access.revoked("token alice")
    assert not access.revoked("token bob")
    assert not access.revoked("address 192.0.2.7")


def test_a_line_may_have_a_quota_beside_patterns() -> None:
    _, line = new_token("node", {Scope.PLAY}, ServerPatterns(("a*",)), quota=8)
    (read,) = read_tokens(line)
    assert (read.quota, read.servers.servers) == (8, ("a*",))
    (plain,) = read_tokens(new_token("alice", {Scope.PLAY})[1])
    assert plain.quota is None


@pytest.mark.parametrize("quota", ["0", "-1", "", "many", "1.5", "8 quota=9", "9" * 10])
def test_a_quota_is_a_number(quota: str) -> None:
    name, scopes, digest = new_token("alice", {Scope.PLAY})[1].split()
    with pytest.raises(ValueError, match="line 1: quota=N is given once, and N is 1 or more"):
        read_tokens(f"{name} {scopes} quota={quota} {digest}")


@pytest.mark.parametrize("text", ["", "\n# to be filled in\n"])
def test_a_file_without_a_token_is_told(
    text: str, path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_text(text)
    file = TokenFile(str(path), clock)
    assert caplog.messages == [
        f"{path} has no token, so nobody can use this server; append the second line that `envwire token NAME` prints"
    ]
    write_tokens(path, PLAYERS)
    assert names(file) == PLAYERS.keys()
    TokenFile(str(path), clock)
    assert len(caplog.messages) == 1
