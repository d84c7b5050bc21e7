"""`envwire watch`: shows a running environment in the terminal."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Generator
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from envwire.server._guarded_output import drawing
from envwire.server.cli._failures import stop
from envwire.server.cli._inspect.asking import asking
from envwire.server.cli._parameters import Target

if TYPE_CHECKING:
    from envwire.observe.v1 import observe_pb2


def watch(
    target: Target,
    session: Annotated[
        str,
        typer.Argument(
            metavar="SESSION",
            help="Id of a session, or its beginning; by default the youngest that can be watched.",
            show_default=False,
        ),
    ] = "",
    frames: Annotated[
        int | None, typer.Option(min=1, help="Pictures to show before it ends.", show_default=False)
    ] = None,
) -> None:
    """Show a running environment in the terminal, twice a second, until Ctrl-C or the end of its session.

    It needs a server with --frames, and an environment that was made with render_mode="rgb_array". A token of scopes
    observe and watch shows the sessions that it made; those of others need scope admin, or a server with
    --watch-others. Watching does not change the run.

    Example: envwire watch localhost:50051
    """
    import numpy as np

    from envwire.envs.wrappers.human import TerminalDisplay

    if not sys.stdout.isatty():
        stop(
            "watch",
            "it draws in a terminal, and standard output is not one; leave out what redirects it, or use "
            "`envwire dashboard`",
        )
    shown = _chosen(target, session)
    typer.echo(f"{shown.env_id}  {shown.client}  session {shown.session_id}")
    display: TerminalDisplay | None = None
    why = ""
    for picture in islice(pictures(target, shown.session_id), frames):
        frame = picture.frame
        if picture.HasField("frame"):
            display = display or TerminalDisplay(drawing(sys.stdout), _columns(frame))
            display.show(np.ndarray((frame.height, frame.width, 3), np.uint8, frame.rgb))
        elif picture.unavailable != why:
            typer.echo(picture.unavailable)
            display = None  # the next picture is drawn below
        why = picture.unavailable


def _chosen(target: str, session_id: str) -> observe_pb2.SessionStatus:
    """Returns the session that the argument selects."""
    first = first_round(target)
    if not first.server.frames:
        stop("watch", "this server shows no pictures; its operator allows them with --frames")
    found = [each for each in first.sessions if each.session_id.startswith(session_id)]
    if session_id and not found:
        stop(
            "watch", f"no session of yours begins with {session_id!r}; `envwire sessions` lists all"
        )
    watchable = [each for each in found if each.frames]
    if not watchable:
        none = f"none of the {len(found)} sessions" if len(found) > 1 else "no session"
        stop(
            "watch",
            f'{none} that you may see can be watched: make one with render_mode="rgb_array"',
        )
    return max(watchable, key=lambda each: each.began)


def _columns(frame: observe_pb2.Frame) -> int:
    """Returns the width in pixels of a picture that fits this terminal; a character is one pixel wide and two high."""
    room = shutil.get_terminal_size()
    rows = max(1, room.lines - 2)
    return max(1, min(room.columns, 2 * rows * frame.width // max(1, frame.height)))


def first_round(target: str) -> observe_pb2.WatchResponse:
    """Returns the status of a server and its sessions as one message. An error is printed and ends the command."""
    from envwire.observe.v1 import observe_pb2, observe_pb2_grpc

    told = observe_pb2.WatchResponse()
    with asking("watch", target, observe_pb2_grpc.ObserveServiceStub, seconds=None) as ask:
        parts = ask("Watch", observe_pb2.WatchRequest())
        while not told.complete:
            told.MergeFrom(next(parts))
    return told


def pictures(target: str, session_id: str) -> Generator[observe_pb2.WatchFramesResponse]:
    """Yields pictures of a session until it ends. An error is printed and ends the command."""
    from envwire.observe.v1 import observe_pb2, observe_pb2_grpc

    request = observe_pb2.WatchFramesRequest(session_id=session_id)
    with asking("watch", target, observe_pb2_grpc.ObserveServiceStub, seconds=None) as ask:
        yield from ask("WatchFrames", request)
