"""Finds out why a TLS connection failed, by a separate handshake, because gRPC does not report the reason."""

from __future__ import annotations

import socket
import ssl

from envwire.client._transports.resolving import connect
from envwire.client._transports.targets import addresses
from envwire.client.credentials import Credentials
from envwire.client.errors import TlsError

#: Bounds the handshake; a server that runs answers within milliseconds.
_SECONDS = 3.0

#: OpenSSL's error codes for certificates, with a description and a remedy.
_UNTRUSTED = "comes from an authority unknown here; give the server's CA as Credentials(ca=...) or ENVWIRE_CA"
_ANOTHER_NAME = "is for another name; dial the name that it has, or give that as Credentials(override_authority=...)"
_COMPLAINTS = {
    9: "is not valid yet; compare the clocks of both machines",
    10: "has expired; the operator replaces the files, and the server takes the new ones without a restart",
    **dict.fromkeys((18, 19, 20, 21), _UNTRUSTED),
    **dict.fromkeys((62, 64), _ANOTHER_NAME),
}


def tls_fault(target: str, credentials: Credentials, timeout: float) -> TlsError | None:
    """Returns the TLS error of a connection to a server, if there is one.

    Args:
        target: HOST:PORT, or any gRPC name.
        credentials: The client's certificates.
        timeout: Seconds that the check may take at most.

    Returns:
        The exception to raise; None if the cause is not TLS, or unknown.
    """
    try:
        host, port = addresses(target)[0]
        with connect(host, port, min(timeout, _SECONDS)) as connection:
            text = _complaint(connection, credentials, credentials.override_authority or host)
    except (OSError, LookupError):
        return None
    return None if text is None else TlsError(f"no secure connection to {target}: {text}")


def _complaint(connection: socket.socket, credentials: Credentials, name: str) -> str | None:
    context = credentials.ssl_context()
    if context is None:
        return _complaint_without_tls(connection)
    context.set_alpn_protocols(["h2"])
    try:
        secure = context.wrap_socket(connection, server_hostname=name)
    except ssl.SSLCertVerificationError as error:
        what = _COMPLAINTS.get(error.verify_code, f"was refused: {error.verify_message}")
        return f"the server's certificate {what}"
    except ssl.SSLError as error:
        if _is_alert(error):
            return _refusal(credentials)
        # A broken connection proves nothing: a load balancer in front of a starting server breaks it as well.
        return _NO_TLS if error.reason == "WRONG_VERSION_NUMBER" else None
    with secure:
        return _refusal(credentials) if _ends_at_once(secure) else None


_NO_TLS = (
    "the server does not speak TLS; leave out Credentials' ca and cert (and ENVWIRE_CA, ENVWIRE_CERT), or start it with"
    " --tls-cert and --tls-key"
)


def _complaint_without_tls(connection: socket.socket) -> str | None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nothing is sent over it
    try:
        context.wrap_socket(connection).close()
    except ssl.SSLError as error:
        if not _is_alert(error):
            return None
    return "the server speaks TLS and this client does not; give its CA as Credentials(ca=...) or ENVWIRE_CA"


def _is_alert(error: ssl.SSLError) -> bool:
    return "ALERT" in (error.reason or "")


def _ends_at_once(secure: ssl.SSLSocket) -> bool:
    """Returns whether the server closes right after the handshake, when TLS 1.3 checks the client's certificate."""
    try:
        return not secure.recv(1)
    except (ssl.SSLError, ConnectionError):
        return True
    except TimeoutError:
        return False


def _refusal(credentials: Credentials) -> str:
    if credentials.cert is None:
        return (
            "the server asks for a client certificate; give Credentials(cert=..., key=...), or set ENVWIRE_CERT and"
            " ENVWIRE_KEY"
        )
    return (
        "the server does not accept this client's certificate: it has expired, or another authority than the server's "
        "--tls-client-ca issued it; ask the operator for a new one"
    )
