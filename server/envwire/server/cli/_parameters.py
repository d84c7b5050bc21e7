"""Arguments and options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

Target = Annotated[str, typer.Argument(help="HOST:PORT of a server.")]
EnvId = Annotated[str, typer.Argument(help="Environment id.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
