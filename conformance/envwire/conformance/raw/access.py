"""How a check reaches the server: address, token and certificates; and what the server's operator did for it."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

import grpc

from envwire.conformance.outcomes import FailedError

#: Largest answer that is taken in. The largest one that a check asks for has 8 MB; a server that answered steps with
#: 200 MiB cost 1.7 GiB of memory here. It is odd, so that no server has it for a limit of its own.
MAX_ANSWER_BYTES = 2**24 + 1


def too_large(size: str) -> FailedError:
    """Returns the failure of a server that sends an answer of this size."""
    return FailedError(f"an answer of at most {MAX_ANSWER_BYTES} bytes, not one of {size}")


@dataclass(frozen=True)
class Operator:
    """What the server's operator did for the checks of what operators decide; empty for what was not done.

    Attributes:
        lists: Whether the server has the terms of a public address, with the lists that docs/conformance.md names.
        sessions_per_client: Most sessions of one client; at least 2.
        makes_per_minute: Most `Make` of one client in a minute; at least 20.
        recordings: The directory in which the server records sessions.
        withdraw: Command that withdraws `withdrawn_token`.
        withdrawn_token: A token of another client than the run's.
    """

    lists: bool = False
    sessions_per_client: int = 0
    makes_per_minute: int = 0
    recordings: str = ""
    withdraw: str = ""
    withdrawn_token: str = ""


@dataclass(frozen=True)
class Access:
    """How to reach a server.

    Attributes:
        target: HOST:PORT of its gRPC port.
        token: Token to send; empty for none.
        observe_token: Token with only the scope "observe", which some checks need; empty for none.
        ca: PEM file of the authority that signed the server's certificate; empty for a server without TLS.
        cert: PEM file of the client's certificate; empty for none.
        key: PEM file of its key.
        stop: Command that tells the server to stop; empty for none.
        operator: What its operator did.
    """

    target: str
    token: str = ""
    ca: str = ""
    cert: str = ""
    key: str = ""
    observe_token: str = ""
    stop: str = ""
    operator: Operator = Operator()

    @property
    def host(self) -> str:
        """The host of the target."""
        return self.target.rpartition(":")[0].strip("[]")

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Returns the metadata of every call."""
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()

    def channel(self) -> grpc.Channel:
        """Opens a gRPC channel that takes answers of up to `MAX_ANSWER_BYTES`, and sends requests of any size."""
        options = [
            ("grpc.enable_http_proxy", 0),
            ("grpc.max_receive_message_length", MAX_ANSWER_BYTES),
            ("grpc.max_send_message_length", -1),
        ]
        if not self.ca:
            return grpc.insecure_channel(self.target, options)
        credentials = grpc.ssl_channel_credentials(*map(_read, (self.ca, self.key, self.cert)))
        return grpc.secure_channel(self.target, credentials, options)

    def tls(self) -> ssl.SSLContext | None:
        """Returns the TLS context of direct channels over TCP; None without TLS."""
        if not self.ca:
            return None
        context = ssl.create_default_context(cafile=self.ca)
        if self.cert:
            context.load_cert_chain(self.cert, self.key)
        return context


def _read(path: str) -> bytes | None:
    return Path(path).read_bytes() if path else None
