"""Calls to servers fail with a status that the page can pass on."""

from __future__ import annotations

import asyncio

import pytest

from envwire.client import Credentials
from envwire.dashboard.channels import CallError, Channels
from envwire.observe.v1 import observe_pb2 as pb


def refused(target: str, token: str | None) -> CallError:
    """Returns the error of a call, and of a stream, which is the same."""

    async def main() -> CallError:
        channels = Channels(Credentials(token=token))
        errors = []
        try:
            request = pb.DescribeSessionRequest()
            with pytest.raises(CallError) as asked:
                await channels.ask(target, "observe", "DescribeSession", request)
            errors.append(asked.value)
            told = channels.listen(target, "observe", "Watch", pb.WatchRequest())
            with pytest.raises(CallError) as listened:
                await anext(told)
            errors.append(listened.value)
        finally:
            await channels.close()
        assert errors[0].status == errors[1].status
        return errors[0]

    return asyncio.run(asyncio.wait_for(main(), 60.0))


def test_a_server_that_is_not_there() -> None:
    assert refused("127.0.0.1:1", None).status == 503


def test_the_token_goes_nowhere_in_the_clear() -> None:
    """A gateway may name any address as one of its servers."""
    error = refused("192.0.2.1:50051", "envwire_secret")
    assert error.status == 403
    assert "envwire_secret" not in str(error)


def test_certificates_that_cannot_be_read_fail_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """They may be missing for a moment while they are replaced, which must not end the watching."""
    monkeypatch.setenv("ENVWIRE_CA", "/no/such.pem")
    error = refused("127.0.0.1:1", None)
    assert error.status == 403
    assert "cannot read ca" in str(error)
