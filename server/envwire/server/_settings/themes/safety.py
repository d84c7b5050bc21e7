"""Settings of access: what clients may ask for, TLS and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from envwire.server._settings.checks import FilePath
from envwire.server._settings.setting import PerGroup, setting

_setting = partial(setting, "Safety")
_own = partial(_setting, per_group=PerGroup.OWN)
_inherited = partial(_setting, per_group=PerGroup.INHERITED)


@dataclass(frozen=True, kw_only=True)
class SafetySettings:
    """Settings of access: what clients may ask for, TLS and tokens."""

    allow_kwargs: Sequence[str] = _setting(
        (),
        "Keyword arguments that clients of a public address may pass, with rules for their values: name,name or "
        "ID=size:int[1..9],slip:bool,map:{4x4,8x8}.",
    )
    allow_wrappers: Sequence[str] = _own(
        (), "Wrapper module:Class that clients may ask for.", option="--allow-wrapper"
    )
    allow_attributes: Sequence[str] = _inherited(
        (),
        "Attribute, or pattern, that clients of a public address may read and set.",
        option="--allow-attribute",
    )
    allow_methods: Sequence[str] = _inherited(
        (),
        "Method, or pattern, that clients of a public address may call.",
        option="--allow-method",
    )
    public: bool = _setting(
        False,
        "Apply the rules of a public address on loopback too: for a server that others reach through a proxy or a "
        "forwarded port. It takes --tokens.",
    )
    tls_cert: FilePath = _setting(
        "", "PEM file of the server's certificate; it is reloaded when it changes."
    )
    tls_key: FilePath = _setting("", "PEM file of its key.")
    tls_client_ca: FilePath = _setting(
        "", "PEM file of the CA whose client certificates are accepted."
    )
    tokens: FilePath = _setting(
        "", "File of the accepted tokens; `envwire token` prints its lines."
    )
    share_processes: bool = _setting(
        False,
        "Let environments of different clients share a process, for clients that trust each other. By default each "
        "client has processes of its own.",
    )
    insecure: bool = _setting(
        False, "Bind an address other than loopback without TLS and without authentication."
    )
