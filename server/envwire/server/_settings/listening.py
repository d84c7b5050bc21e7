"""Settings of a port: address, TLS and tokens, with the check that a public address is protected."""

from __future__ import annotations

import ipaddress

from envwire.server._settings.checks import FilePath


class Listening:
    """The settings of a port, which those of servers and gateways have in common.

    Attributes:
        host: Address to bind.
        port: Port to bind; 0 for any free one.
        max_message_bytes: Largest message in either direction, in bytes.
        tls_cert: PEM file of the certificate; empty for none.
        tls_key: PEM file of its key.
        tls_client_ca: PEM file of the CA whose client certificates are accepted; empty to require no certificate.
        tokens: File of the accepted tokens; empty to require none.
        insecure: Whether the network around it is trusted.
    """

    host: str
    port: int
    max_message_bytes: int
    tls_cert: FilePath
    tls_key: FilePath
    tls_client_ca: FilePath
    tokens: FilePath
    insecure: bool

    def take_off_brackets(self) -> None:
        """Makes "[::1]", as in HOST:PORT, the host ::1."""
        if self.host.startswith("[") and self.host.endswith("]"):
            object.__setattr__(self, "host", self.host[1:-1])  # settings are frozen

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)


def host_of(target: str) -> str:
    """Returns the host of HOST:PORT, without the brackets of an IPv6 address."""
    return target.rpartition(":")[0].strip("[]")


def is_loopback(host: str) -> bool:
    """Returns whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_unspecified(host: str) -> bool:
    """Returns whether an address stands for all addresses of its machine, as 0.0.0.0 does."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def local_target(target: str) -> str:
    """Returns the target at which this machine reaches a server bound to `target`: 127.0.0.1:1 for 0.0.0.0:1."""
    host, _, port = target.rpartition(":")
    local = "[::1]" if ":" in host else "127.0.0.1"
    return f"{local}:{port}" if is_unspecified(host_of(target)) else target


def check_listening(config: Listening) -> None:
    """Refuses an incomplete set of certificate files, and a public address without protection.

    Raises:
        ValueError: A setting is missing; the message names it.
    """
    if bool(config.tls_cert) != bool(config.tls_key) or (
        config.tls_client_ca and not config.tls_cert
    ):
        raise ValueError(
            "a certificate and its key go together, and a client CA needs both: give --tls-cert and --tls-key "
            "(`envwire certs DIR` makes some to begin with)"
        )
    if is_loopback(config.host) or config.insecure:
        return
    missing = "TLS (--tls-cert, --tls-key)" if not config.tls_cert else ""
    if not config.tokens and not config.tls_client_ca:
        missing += " and " * bool(missing) + "--tokens or --tls-client-ca"
    if missing:
        raise ValueError(
            f"refusing to bind {config.host}: anybody who reaches it could run environments here, or listen in. Give "
            f"{missing}; or bind 127.0.0.1; or say --insecure when the network around it is trusted"
        )
