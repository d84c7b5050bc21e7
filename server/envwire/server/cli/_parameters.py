"""Arguments and options that several commands share; values of NAME=VALUE are JSON or plain text."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from envwire.server.cli._failures import USAGE, stop

#: The target that stands for the command's own process.
IN_PROCESS = "in-process"


def complete_env_id(ctx: typer.Context, incomplete: str) -> Iterator[str]:
    """Completes an environment id, from the ids of the server if the command line names one."""
    target = ctx.params.get("target")
    return (each for each in known_ids(target) if each.startswith(incomplete))


def checked(
    check: Callable[[Any], object], unless: str | None = None
) -> Callable[[typer.Context, Any], Any]:
    """Returns the callback of an argument or option that ends the command for a value that cannot be used.

    Args:
        check: Raises ValueError for a value that is not in the required form, OSError for a file that cannot be
            written.
        unless: A value for which it is not called.
    """

    def callback(ctx: typer.Context, value: Any) -> Any:
        try:
            if value != unless:
                check(value)
        except OSError as error:
            stop(_name(ctx), error)
        except ValueError as error:
            stop(_name(ctx), error, USAGE)
        return value

    return callback


def _name(ctx: typer.Context) -> str:
    """Returns the command's name, without the program's: "farm status"."""
    parent: Any = ctx.parent
    return str(ctx.info_name) if parent.parent is None else f"{parent.info_name} {ctx.info_name}"


def _check_target(target: str) -> None:
    """Checks that a target can be dialled: gRPC would take port 443 for HOST."""
    from envwire.client._transports.targets import checked as dialled

    dialled(target)


def _check_targets(targets: list[str]) -> None:
    for target in targets:
        _check_target(target)


def check_transport(name: str) -> None:
    """Checks the name of a transport.

    Raises:
        ValueError: There is none of that name.
    """
    from envwire.client._transports.by_name import opener

    opener(name)


def check_directory(path: Path) -> None:
    """Checks that the directory of a file exists, before the work whose result the file is to hold.

    Raises:
        OSError: There is none.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no directory {path.parent}")


def keyword_arguments(options: Iterable[str]) -> dict[str, Any]:
    """Parses NAME=VALUE options: `is_slippery=false`, `map_name=8x8`.

    Raises:
        ValueError: An option has no name or no value.
    """
    arguments: dict[str, Any] = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals or not name.isidentifier():
            raise ValueError(f"--kwarg {option!r} is not NAME=VALUE, for example is_slippery=false")
        arguments[name] = _value(value)
    return arguments


def wrapper_requests(options: Iterable[str]) -> list[tuple[str, dict[str, Any]]]:
    """Parses wrappers: `ClipAction`, or with arguments `TimeLimit={"max_episode_steps": 100}`.

    Raises:
        ValueError: A wrapper's arguments are not a JSON object.
    """
    wrappers: list[tuple[str, dict[str, Any]]] = []
    for option in options:
        name, _, text = option.partition("=")
        arguments = _value(text or "{}")
        if not isinstance(arguments, dict):
            raise ValueError(
                f"--wrapper {option!r}: what follows = must be a JSON object of arguments, for example "
                'TimeLimit={"max_episode_steps": 100}'
            )
        wrappers.append((name, cast("dict[str, Any]", arguments)))
    return wrappers


def making(
    kwarg: Iterable[str] | None, wrapper: Iterable[str] | None, library: str, transport: str
) -> dict[str, Any]:
    """Parses the options of a command that makes an environment into arguments of `RemoteEnv`.

    Raises:
        ValueError: An option does not have the required form.
    """
    return {
        "env_kwargs": keyword_arguments(kwarg or ()),
        "wrappers": wrapper_requests(wrapper or ()),
        "library": library or None,
        "transport": transport,
    }


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def target_argument(text: str) -> Any:
    """Returns the argument TARGET of a command."""
    return typer.Argument(help=text, metavar="TARGET", callback=checked(_check_target))


def target_option(text: str) -> Any:
    """Returns the option --target of a command that needs no server."""
    callback = checked(_check_target, unless="")
    return typer.Option("--target", metavar="HOST:PORT", help=text, callback=callback)


check_targets, check_output = checked(_check_targets), checked(check_directory)
Target = Annotated[str, target_argument("HOST:PORT of a server.")]
TargetOrHere = Annotated[
    str,
    typer.Argument(
        help="HOST:PORT of a server; or in-process, to run the environment here, with your terminal for breakpoint().",
        metavar="TARGET",
        callback=checked(_check_target, unless=IN_PROCESS),
    ),
]
EnvId = Annotated[
    str,
    typer.Argument(help="Environment id.", metavar="ENV_ID", autocompletion=complete_env_id),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
TargetOption = Annotated[str, target_option("A server that hosts it.")]
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
        "--kwarg",
        metavar="NAME=VALUE",
        help="Argument of the environment, VALUE in JSON or text; may be repeated.",
        callback=checked(keyword_arguments),
    ),
]
TransportName = Annotated[
    str,
    typer.Option(
        "--transport",
        help="How to talk to the server: direct, stream or unary.",
        callback=checked(check_transport),
    ),
]
MaxSteps = Annotated[int, typer.Option(min=1, help="Steps after which an episode is cut.")]
Wrappers = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Wrapper on the server, innermost first: NAME, or NAME={JSON arguments}; may be repeated.",
        callback=checked(wrapper_requests),
    ),
]
Library = Annotated[str, typer.Option(help="Library to take the id from; any by default.")]


#: Longest wait after pressing Tab, in seconds.
_COMPLETION_SECONDS = 1.0


def known_ids(target: str | None) -> list[str]:
    """Returns the ids in order; empty if the server does not answer."""
    return sorted(_served(target) if target else _installed())


def _served(target: str) -> set[str]:
    from envwire.client._transports.by_name import open_transport
    from envwire.client._transports.transport import call
    from envwire.client.errors import RemoteError
    from envwire.v1 import environment_pb2 as pb

    try:
        with contextlib.closing(open_transport("unary", target, _COMPLETION_SECONDS)) as transport:
            request = pb.InteractRequest(list_environments=pb.ListEnvironmentsRequest())
            listed = call(transport, request, _COMPLETION_SECONDS).list_environments.environments
    except (RemoteError, ValueError):
        return set()
    return {listing.spec.id for listing in listed}


def _installed() -> set[str]:
    found: set[str] = set()
    for name in ("envwire.envs", "gymnasium"):
        with contextlib.suppress(ModuleNotFoundError):
            found |= set(import_module(name).registry)
    return found
