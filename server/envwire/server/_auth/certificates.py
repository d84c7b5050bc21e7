"""Creates a development CA, with a certificate for the server and one for a client. Needs `cryptography`.

For production, use the certificates that your organisation issues. The authority's key is written as well, to issue
more certificates; anyone who has it can create certificates that the server and its clients trust.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

#: Certificates are valid from a little in the past on, since clocks differ.
_SLACK = timedelta(minutes=5)
#: Validity in days. Apple and others refuse certificates with a longer one.
_DAYS = 398


@dataclass(frozen=True)
class Issued:
    """A certificate and its key."""

    cert: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def write(self, directory: Path, name: str) -> list[Path]:
        """Writes NAME.pem and NAME-key.pem, the key readable only by its owner; returns their paths."""
        key = self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        path = directory / f"{name}-key.pem"
        _write(path, key, 0o600)
        return [self.write_cert(directory, name), path]

    def write_cert(self, directory: Path, name: str) -> Path:
        """Writes NAME.pem alone; returns its path."""
        path = directory / f"{name}.pem"
        _write(path, self.cert.public_bytes(serialization.Encoding.PEM), 0o644)
        return path

    @classmethod
    def read(cls, directory: Path, name: str) -> Issued:
        """Reads what `write` wrote.

        Raises:
            OSError: A file cannot be read.
            ValueError: A file holds something else.
        """
        cert = x509.load_pem_x509_certificate((directory / f"{name}.pem").read_bytes())
        pem = (directory / f"{name}-key.pem").read_bytes()
        key = serialization.load_pem_private_key(pem, password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError(f"{name}-key.pem holds a key of another kind")
        return cls(cert, key)


def _write(path: Path, content: bytes, mode: int) -> None:
    # Replaces the file atomically, so that it is never partly written and never has the old file's mode.
    temporary = path.with_name(path.name + ".new")
    temporary.unlink(missing_ok=True)
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
    temporary.replace(path)


def issue(
    name: str,
    *,
    issuer: Issued | None = None,
    hosts: Iterable[str] = (),
    client: bool = False,
    days: float = _DAYS,
) -> Issued:
    """Issues a certificate.

    Args:
        name: Common name of its subject.
        issuer: The authority; None to create a new authority.
        hosts: Names and addresses of a server.
        client: Whether it is for a client instead of a server.
        days: Validity in days; negative for an expired certificate.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(timezone.utc)
    begin = min(now, now + timedelta(days=days)) - _SLACK
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.cert.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(now + timedelta(days=days))
    )
    for extension, critical in _extensions(key, issuer, list(hosts), client):
        builder = builder.add_extension(extension, critical)
    return Issued(builder.sign(issuer.key if issuer else key, hashes.SHA256()), key)


def _extensions(
    key: ec.EllipticCurvePrivateKey, issuer: Issued | None, hosts: list[str], client: bool
) -> list[tuple[x509.ExtensionType, bool]]:
    public = key.public_key()
    extensions: list[tuple[x509.ExtensionType, bool]] = [
        (x509.BasicConstraints(ca=issuer is None, path_length=0 if issuer is None else None), True),
        (x509.SubjectKeyIdentifier.from_public_key(public), False),
        (_usage(authority=issuer is None), True),
    ]
    if issuer is not None:
        use = ExtendedKeyUsageOID.CLIENT_AUTH if client else ExtendedKeyUsageOID.SERVER_AUTH
        above = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.key.public_key())
        extensions += [(x509.ExtendedKeyUsage([use]), False), (above, False)]
    if hosts:
        extensions.append((x509.SubjectAlternativeName([_name(host) for host in hosts]), False))
    return extensions


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def make_certificates(
    directory: Path, hosts: Iterable[str], client: str, authority: Issued | None = None
) -> list[Path]:
    """Writes a server's and a client's certificate with their keys, and the authority's; returns the paths.

    Args:
        directory: Directory to write to; created if missing.
        hosts: Names and addresses by which clients dial the server.
        client: Name of the client.
        authority: Issues them, and its key is not written again; None for a new authority, with its key.
    """
    directory.mkdir(parents=True, exist_ok=True)
    issuer = authority or issue("envwire development CA")
    server = issue("envwire server", issuer=issuer, hosts=hosts)
    agent = issue(client, issuer=issuer, client=True)
    above = [issuer.write_cert(directory, "ca")] if authority else issuer.write(directory, "ca")
    return [*above, *server.write(directory, "server"), *agent.write(directory, "client")]
