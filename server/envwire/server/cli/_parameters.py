"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from envwire.server.cli._stop import stop


def complete_env_id(ctx: typer.Context, incomplete: str) -> Iterator[str]:
    """Completes an environment id, from the ids of the server if the command line names one."""
    from envwire.server.cli._inspect.ids import known_ids

    target = ctx.params.get("target")
    return (each for each in known_ids(target) if each.startswith(incomplete))


def check_target(ctx: typer.Context, target: str) -> str:
    """Returns a target that can be dialled; ends the command for another one: gRPC would take port 443 for HOST."""
    from envwire.client._transports.targets import checked

    try:
        return checked(target)
    except ValueError as error:
        stop(str(ctx.info_name), error)


Target = Annotated[str, typer.Argument(help="HOST:PORT of a server.", callback=check_target)]
EnvId = Annotated[str, typer.Argument(help="Environment id.", autocompletion=complete_env_id)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
TargetOption = Annotated[
    str,
    typer.Option(
        "--target", metavar="HOST:PORT", help="A server that hosts it.", show_default=False
    ),
]
Imports = Annotated[
    list[str] | None,
    typer.Option(
        "--import",
        metavar="MODULE",
        help="Module, or file.py, that registers it; may be repeated.",
    ),
]
Kwargs = Annotated[
    list[str] | None,
    typer.Option(
        "--kwarg", metavar="NAME=VALUE", help="Argument of the environment, VALUE in JSON or text."
    ),
]
TransportName = Annotated[
    str, typer.Option("--transport", help="How to talk to the server: direct, stream or unary.")
]
MaxSteps = Annotated[int, typer.Option(min=1, help="Steps after which an episode is cut.")]
Wrappers = Annotated[
    list[str] | None,
    typer.Option(help="Wrapper on the server, innermost first: NAME, or NAME={JSON arguments}."),
]
Library = Annotated[str, typer.Option(help="Library to take the id from; any by default.")]
