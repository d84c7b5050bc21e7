"""The program of the fork server: loads the environments, reports them to the front, then serves forks."""

from __future__ import annotations

import gc
import json
import os
import socket
import sys
from typing import BinaryIO

from envwire.server._auth.attribute_access import AttributeAccess
from envwire.server._hosting.imports import BrokenModuleError
from envwire.server._hosting.libraries import Catalogue, list_environments, load_catalogue, preload
from envwire.server._hosting.sources import operator_files, pin_sources
from envwire.server._worker.forkserver import Forkserver
from envwire.server.config import ServerConfig


def _load(config: ServerConfig, answer: BinaryIO) -> Catalogue | None:
    """Loads the catalogue and reports it, or the error, to the front: one line of JSON, then the list."""
    try:
        catalogue = load_catalogue(
            config.environments,
            imports=config.imports,
            wrappers=config.allow_wrappers,
            attribute_access=AttributeAccess.of(config),
        )
    except Exception as error:
        told = isinstance(error, BrokenModuleError | LookupError)
        text = str(error) if told else f"{type(error).__name__}: {error}"
        answer.write(json.dumps({"error": text}).encode() + b"\n")
        return None
    preload(catalogue)
    pin_sources()
    libraries = [[library.name, library.version] for library in catalogue.libraries]
    offer = {"libraries": libraries, "files": operator_files()}
    answer.write(json.dumps(offer).encode() + b"\n")
    answer.write(list_environments(catalogue).SerializeToString())
    return catalogue


def main() -> int:
    """Runs the fork server. The front passes descriptors as arguments, and the settings on standard input."""
    control, lifeline, *folder = map(int, sys.argv[1:])
    for descriptor in folder:  # programs that environments start do not get it
        os.set_inheritable(descriptor, False)
    config = ServerConfig.from_json(sys.stdin.read())
    if not config.python:  # paths of the server: another interpreter has its own
        sys.path[:0] = config.sys_path
    # Python recognizes outdated bytecode by the second of the edit, and would miss a second edit within it.
    sys.dont_write_bytecode |= config.dev
    with os.fdopen(os.dup(1), "wb") as answer:
        os.dup2(2, 1)  # modules that print during import print to the log
        catalogue = _load(config, answer)
    if catalogue is None:
        return 1
    gc.collect()
    gc.freeze()  # keeps the garbage collector from writing to pages that sessions share
    Forkserver(socket.socket(fileno=control), lifeline, catalogue, config, folder).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
