"""Settings of access: what clients may ask for, TLS and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from envwire.server._settings.checks import FilePath
from envwire.server._settings.setting import About, PerGroup

_about = partial(About, "Safety")


@dataclass(frozen=True, kw_only=True)
class SafetySettings:
    """Settings of access: what clients may ask for, TLS and tokens."""

    allow_kwargs: Annotated[
        Sequence[str],
        _about(
            "Keyword arguments that clients of a public address may pass, with rules for their values: name,name or "
            "ID=size:int[1..9],slip:bool,map:{4x4,8x8}."
        ),
    ] = ()
    allow_wrappers: Annotated[
        Sequence[str],
        _about(
            "Wrapper module:Class that clients may ask for.",
            option="--allow-wrapper",
            per_group=PerGroup.OWN,
        ),
    ] = ()
    allow_attributes: Annotated[
        Sequence[str],
        _about(
            "Attribute, or pattern, that clients of a public address may read and set.",
            option="--allow-attribute",
            per_group=PerGroup.INHERITED,
        ),
    ] = ()
    allow_methods: Annotated[
        Sequence[str],
        _about(
            "Method, or pattern, that clients of a public address may call.",
            option="--allow-method",
            per_group=PerGroup.INHERITED,
        ),
    ] = ()
    public: Annotated[
        bool,
        _about(
            "Apply the rules of a public address on loopback too: for a server that others reach through a proxy or a "
            "forwarded port. It takes --tokens."
        ),
    ] = False
    tls_cert: Annotated[
        FilePath, _about("PEM file of the server's certificate; it is reloaded when it changes.")
    ] = ""
    tls_key: Annotated[FilePath, _about("PEM file of its key.")] = ""
    tls_client_ca: Annotated[
        FilePath, _about("PEM file of the CA whose client certificates are accepted.")
    ] = ""
    tokens: Annotated[
        FilePath, _about("File of the accepted tokens; `envwire token` prints its lines.")
    ] = ""
    share_processes: Annotated[
        bool,
        _about(
            "Let environments of different clients share a process, for clients that trust each other. By default each "
            "client has processes of its own."
        ),
    ] = False
    insecure: Annotated[
        bool,
        _about("Bind an address other than loopback without TLS and without authentication."),
    ] = False
