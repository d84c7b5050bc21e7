"""`envwire image`: builds a container image that serves the environments of packages."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from envwire.server.cli._failures import USAGE, stop
from envwire.server.cli._parameters import check_output

_TEMPLATE = """\
# Written by `envwire image`; {base} is built from docker/server.Dockerfile.
FROM {base}
USER 0
# An index of your own, where the default one is out of reach. pip reads it from the environment.
ARG PIP_INDEX_URL
{system}{files}RUN {python} -m pip install --no-cache-dir {packages}
USER 10001:10001
# --insecure: publish the ports on loopback, or keep them on a private network; else give --tls-cert and --tokens.
CMD {command}
"""
_SYSTEM = """\
RUN apt-get update \\
    && apt-get install --yes --no-install-recommends {packages} \\
    && rm -rf /var/lib/apt/lists/*
"""
#: Where files of packages are in the image.
_FILES = "/packages/"
_ARCHIVES = (".whl", ".zip", ".tar.gz")
#: The interpreter that runs the server in the image.
_PYTHON = "/opt/envwire/bin/python"
#: Options of the server, as in docker/server.Dockerfile.
_SERVE = ("--host", "0.0.0.0", "--insecure", "--direct-port", "50052", "--drain-timeout", "4")  # noqa: S104

_Packages = Annotated[
    list[str],
    typer.Argument(
        metavar="PACKAGE",
        help="What pip installs, beside the server: names, or files in this folder such as wheels.",
    ),
]
_Ids = Annotated[
    list[str] | None,
    typer.Option(
        "--ids", metavar="ID", help="Id or pattern to serve, such as 'MiniGrid-*'; may be repeated."
    ),
]
_Imports = Annotated[
    list[str] | None,
    typer.Option(
        "--import",
        metavar="MODULE",
        help="Module that registers them; may be repeated. Known for some packages, such as ale-py and minigrid.",
    ),
]
_System = Annotated[
    list[str] | None,
    typer.Option("--apt", metavar="PACKAGE", help="Package of Debian to install; may be repeated."),
]
_Base = Annotated[
    str, typer.Option("--from", help="Image to build on; envwire-server-gl draws with OpenGL.")
]
_Output = Annotated[
    Path,
    typer.Option(
        "--output", "-o", help="The file to write; - for standard output.", callback=check_output
    ),
]
_Build = Annotated[
    str, typer.Option("--build", metavar="TAG", help="Build it with docker, under this name.")
]


def image(
    packages: _Packages,
    ids: _Ids = None,
    imports: _Imports = None,
    system: _System = None,
    base: _Base = "envwire-server",
    output: _Output = Path("Dockerfile"),
    build: _Build = "",
) -> None:
    """Write a Dockerfile for an image that serves the environments of PACKAGEs; --build builds it.

    Example: envwire image minigrid --ids 'MiniGrid-*' --build my-minigrid
    """
    for name in (*packages, *(system or []), base):
        if not name.isprintable() or name.endswith("\\"):
            stop("image", f"{name!r} is no name of a package or of an image", USAGE)
    files = _files(packages)
    for name in files:
        if Path.cwd() not in Path(name).resolve().parents:
            stop("image", f"{name} is outside this folder, which docker builds from; copy it here")
    modules = known_modules(packages) if imports is None else imports
    text = dockerfile(packages, ids or ["*"], modules, system or [], base)
    if build:
        _build(text, build, files)
    elif str(output) == "-":
        typer.echo(text, nl=False)
    else:
        _write(text, output)


def known_modules(packages: list[str]) -> list[str]:
    """Returns the modules that register the environments of some well-known packages."""
    from envwire.server._hosting.library import PACKAGES

    names = {re.split(r"[^\w.-]", each, maxsplit=1)[0].replace("_", "-") for each in packages}
    return sorted({module for package, module in PACKAGES.values() if package in names})


def dockerfile(
    packages: list[str], ids: list[str], imports: list[str], system: list[str], base: str
) -> str:
    """Returns the text of a Dockerfile.

    Args:
        packages: Requirements for pip, and files that it installs.
        ids: Ids or patterns to serve.
        imports: Modules that register them.
        system: Debian packages.
        base: The base image.
    """
    modules = (part for module in imports for part in ("--import", module))
    files = _files(packages)
    installed = [_FILES + Path(each).name if each in files else each for each in packages]
    return _TEMPLATE.format(
        base=base,
        python=_PYTHON,
        packages=shlex.join(installed),
        files=f"COPY {json.dumps([*map(os.path.relpath, files), _FILES])}\n" if files else "",
        system=_SYSTEM.format(packages=shlex.join(system)) if system else "",
        command=json.dumps(["serve", *ids, *modules, *_SERVE]),
    )


def _files(packages: list[str]) -> list[str]:
    """Returns the packages that are files, by the endings that pip takes for one: a bare name is that of an index."""
    return [each for each in packages if each.endswith(_ARCHIVES) and Path(each).is_file()]


def _write(text: str, output: Path) -> None:
    if output.exists():
        stop("image", f"{output} exists; name another file with --output, or - for standard output")
    output.write_text(text, encoding="utf-8")
    typer.echo(
        f"wrote {output}; build it with: docker build -f {shlex.quote(str(output))} -t NAME ."
    )


def _build(text: str, tag: str, files: list[str]) -> None:
    """Builds the image with these files alone, so that no other file of this directory goes into it."""
    if shutil.which("docker") is None:
        stop("image", "docker is not installed; leave --build out and build the file where it is")
    with tempfile.TemporaryDirectory() as context:
        for each in files:
            place = Path(context, os.path.relpath(each))
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(each, place)
        Path(context, "Dockerfile").write_text(text, encoding="utf-8")
        # The host's network: an engine without firewall rules cannot reach a package index otherwise.
        command = ["docker", "build", "--network", "host", "--tag", tag, *_index(), context]
        status = subprocess.run(command, check=False).returncode  # noqa: S603 - no shell
    if status:
        stop("image", "docker could not build the image; its output above says why")
    ports = "-p 127.0.0.1:50051:50051 -p 127.0.0.1:50052:50052"
    typer.echo(f"built {tag}; run it with: docker run {ports} {tag}")


def _index() -> list[str]:
    """Returns the option that passes on the package index."""
    return ["--build-arg", "PIP_INDEX_URL"] if "PIP_INDEX_URL" in os.environ else []
