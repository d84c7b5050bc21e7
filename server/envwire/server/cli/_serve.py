"""`envwire serve`: host environments until told to stop."""

from __future__ import annotations

import logging
import os
import sys
from typing import Annotated

import typer

from envwire.server.config import ServerConfig

_DEFAULTS = ServerConfig(("*",))
_HOSTING, _LIMITS, _SAFETY = "Hosting", "Limits (times in seconds)", "Safety"


def serve(
    environments: Annotated[
        list[str],
        typer.Argument(
            help="Ids or patterns: CartPole-v1 'ALE/*'. Quote patterns.", metavar="ENVIRONMENT..."
        ),
    ],
    imports: Annotated[
        list[str] | None,
        typer.Option(
            "--import",
            help="Module that registers environments; repeat for more.",
            rich_help_panel=_HOSTING,
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to bind.", rich_help_panel=_HOSTING)
    ] = _DEFAULTS.host,
    port: Annotated[
        int, typer.Option(help="Port to bind; 0 for any free one.", rich_help_panel=_HOSTING)
    ] = _DEFAULTS.port,
    advertise: Annotated[
        str,
        typer.Option(
            help="HOST:PORT that clients are told, where it differs from the bound one.",
            rich_help_panel=_HOSTING,
        ),
    ] = "",
    direct_port: Annotated[
        int,
        typer.Option(
            help="Port of the direct channel, which Python clients prefer; 0 for any free one on loopback and none "
            "elsewhere, -1 for none at all.",
            rich_help_panel=_HOSTING,
        ),
    ] = _DEFAULTS.direct_port,
    sessions_per_process: Annotated[
        int,
        typer.Option(
            help="Environments that share a process: less memory, less isolation.",
            rich_help_panel=_HOSTING,
        ),
    ] = _DEFAULTS.sessions_per_process,
    shared_memory: Annotated[
        int,
        typer.Option(
            help="Bytes of memory that an environment may share with a client on this machine, for large frames.",
            rich_help_panel=_HOSTING,
        ),
    ] = _DEFAULTS.shared_memory,
    max_sessions: Annotated[
        int, typer.Option(help="Environments held at once.", rich_help_panel=_LIMITS)
    ] = _DEFAULTS.max_sessions,
    max_envs_per_session: Annotated[
        int,
        typer.Option(
            help="Environments that step together as one session's vector environment.",
            rich_help_panel=_LIMITS,
        ),
    ] = _DEFAULTS.max_envs_per_session,
    lease: Annotated[
        float,
        typer.Option(help="Life of an environment whose client is gone.", rich_help_panel=_LIMITS),
    ] = _DEFAULTS.lease,
    max_lease: Annotated[
        float,
        typer.Option(help="Longest lease that a client may ask for.", rich_help_panel=_LIMITS),
    ] = _DEFAULTS.max_lease,
    step_timeout: Annotated[
        float,
        typer.Option(
            help="Time for one request; a hung environment is killed after it.",
            rich_help_panel=_LIMITS,
        ),
    ] = _DEFAULTS.step_timeout,
    make_timeout: Annotated[
        float, typer.Option(help="Time for making an environment.", rich_help_panel=_LIMITS)
    ] = _DEFAULTS.make_timeout,
    drain_timeout: Annotated[
        float, typer.Option(help="Time for sessions to end after SIGTERM.", rich_help_panel=_LIMITS)
    ] = _DEFAULTS.drain_timeout,
    max_message_bytes: Annotated[
        int, typer.Option(help="Largest message, in bytes.", rich_help_panel=_LIMITS)
    ] = _DEFAULTS.max_message_bytes,
    max_make_bytes: Annotated[
        int, typer.Option(help="Largest request to make one, in bytes.", rich_help_panel=_LIMITS)
    ] = _DEFAULTS.max_make_bytes,
    max_sessions_per_client: Annotated[
        int,
        typer.Option(
            help="Environments held at once by one client; 0 for no such limit.",
            rich_help_panel=_LIMITS,
        ),
    ] = _DEFAULTS.max_sessions_per_client,
    max_makes_per_minute: Annotated[
        int,
        typer.Option(
            help="Environments that one client may ask for in a minute; 0 for no such limit.",
            rich_help_panel=_LIMITS,
        ),
    ] = _DEFAULTS.max_makes_per_minute,
    max_session_memory: Annotated[
        int,
        typer.Option(
            help="Bytes that an environment's process may allocate; 0 for no limit.",
            rich_help_panel=_LIMITS,
        ),
    ] = _DEFAULTS.max_session_memory,
    max_session_cpu: Annotated[
        int,
        typer.Option(
            help="Processor time that an environment's process may use; 0 for no limit.",
            rich_help_panel=_LIMITS,
        ),
    ] = _DEFAULTS.max_session_cpu,
    max_session_files: Annotated[
        int,
        typer.Option(
            help="Files that an environment's process may have open; 0 for no limit of its own.",
            rich_help_panel=_LIMITS,
        ),
    ] = _DEFAULTS.max_session_files,
    queue: Annotated[
        int,
        typer.Option(
            help="Clients that may wait for a free environment; 0 to refuse them at once.",
            rich_help_panel=_LIMITS,
        ),
    ] = _DEFAULTS.queue,
    queue_timeout: Annotated[
        float, typer.Option(help="Time that one of them may wait.", rich_help_panel=_LIMITS)
    ] = _DEFAULTS.queue_timeout,
    allow_kwargs: Annotated[
        list[str] | None,
        typer.Option(
            help="Keyword arguments that clients of a public address may pass, and of what kind: name,name or "
            "ID=size:int[1..9],slip:bool,map:{4x4,8x8}.",
            rich_help_panel=_SAFETY,
        ),
    ] = None,
    allow_wrapper: Annotated[
        list[str] | None,
        typer.Option(
            help="Wrapper module:Class that clients may ask for.", rich_help_panel=_SAFETY
        ),
    ] = None,
    allow_attribute: Annotated[
        list[str] | None,
        typer.Option(
            help="Attribute, or pattern, that clients of a public address may read and set.",
            rich_help_panel=_SAFETY,
        ),
    ] = None,
    allow_method: Annotated[
        list[str] | None,
        typer.Option(
            help="Method, or pattern, that clients of a public address may call.",
            rich_help_panel=_SAFETY,
        ),
    ] = None,
    tls_cert: Annotated[
        str,
        typer.Option(
            help="PEM file of the server's certificate; it is read anew when it changes.",
            rich_help_panel=_SAFETY,
        ),
    ] = "",
    tls_key: Annotated[
        str, typer.Option(help="PEM file of its key.", rich_help_panel=_SAFETY)
    ] = "",
    tls_client_ca: Annotated[
        str,
        typer.Option(
            help="PEM file of the authority whose clients are let in.", rich_help_panel=_SAFETY
        ),
    ] = "",
    tokens: Annotated[
        str,
        typer.Option(
            help="File of the tokens that are let in; `envwire token` makes its lines.",
            rich_help_panel=_SAFETY,
        ),
    ] = "",
    insecure: Annotated[
        bool,
        typer.Option(
            "--insecure",
            help="Bind an address other than loopback without TLS and without knowing the clients.",
            rich_help_panel=_SAFETY,
        ),
    ] = False,
) -> None:
    """Host ENVIRONMENTS until SIGTERM or Ctrl-C.

    Prints "ready: HOST:PORT" when clients can connect. The first SIGTERM lets running sessions finish, the second
    does not.
    """
    from envwire.server._processes.forkserver import TemplateError
    from envwire.server.serving import run

    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s: %(message)s", stream=sys.stderr
    )
    try:
        config = ServerConfig(
            tuple(environments),
            imports=tuple(imports or ()),
            host=host,
            port=port,
            advertise=advertise,
            direct_port=direct_port,
            sessions_per_process=sessions_per_process,
            shared_memory=shared_memory,
            max_sessions=max_sessions,
            max_envs_per_session=max_envs_per_session,
            lease=lease,
            max_lease=max_lease,
            step_timeout=step_timeout,
            make_timeout=make_timeout,
            drain_timeout=drain_timeout,
            max_message_bytes=max_message_bytes,
            max_make_bytes=max_make_bytes,
            max_sessions_per_client=max_sessions_per_client,
            max_makes_per_minute=max_makes_per_minute,
            max_session_memory=max_session_memory,
            max_session_cpu=max_session_cpu,
            max_session_files=max_session_files,
            queue=queue,
            queue_timeout=queue_timeout,
            allow_kwargs=tuple(allow_kwargs or ()),
            allow_wrappers=tuple(allow_wrapper or ()),
            allow_attributes=tuple(allow_attribute or ()),
            allow_methods=tuple(allow_method or ()),
            tls_cert=tls_cert,
            tls_key=tls_key,
            tls_client_ca=tls_client_ca,
            tokens=tokens,
            insecure=insecure,
            sys_path=(os.getcwd(),),
        )
        run(config, lambda target: print(f"ready: {target}", flush=True))
    except (ValueError, OSError, TemplateError) as error:
        typer.echo(f"envwire serve: {error}", err=True)
        raise typer.Exit(1) from None
