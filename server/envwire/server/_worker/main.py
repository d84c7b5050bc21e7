"""The program of the environments' processes: the fork server, or a session process that is a new interpreter.

The word "session" comes first for the latter; other arguments are descriptors. The settings come on standard input.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import sys
from typing import BinaryIO

from envwire.server._auth.attribute_access import AttributeAccess
from envwire.server._hosting.imports import BrokenModuleError, operator_files, pin_sources
from envwire.server._hosting.libraries import (
    Catalogue,
    list_environments,
    load_catalogue,
    preload,
    program_catalogue,
)
from envwire.server._worker.confining.confinement import not_held
from envwire.server._worker.confining.control_groups import ControlGroups
from envwire.server._worker.forkserver import Forkserver
from envwire.server._worker.session_start import SessionDescriptors, become_session
from envwire.server._worker.threads import SESSION, NewInterpreters, ThreadWatch, lasting_threads
from envwire.server.config import ServerConfig


def _settings() -> ServerConfig:
    """Reads the settings, and prepares Python for the imports."""
    config = ServerConfig.from_json(sys.stdin.read())
    if not config.python:  # paths of the server: another interpreter has its own
        sys.path[:0] = config.sys_path
    # Python recognizes outdated bytecode by the second of the edit, and would miss a second edit within it.
    sys.dont_write_bytecode |= config.dev
    return config


def _load(config: ServerConfig, watch: ThreadWatch) -> Catalogue:
    access = AttributeAccess.of(config)
    if config.program:
        return program_catalogue(config.environments, access)
    return load_catalogue(
        config.environments,
        imports=config.imports,
        wrappers=config.allow_wrappers,
        attribute_access=access,
        imported=watch.imported,
    )


def _compresses(config: ServerConfig) -> bool:
    """Returns whether arrays may be compressed, as for clients on other machines."""
    return config.compression != "off" and bool(config.join or not config.loopback)


def _load_and_tell(config: ServerConfig, answer: BinaryIO) -> Catalogue | None:
    """Loads the catalogue and reports it, or the error, to the front: one line of JSON, then the list."""
    watch = ThreadWatch()
    try:
        catalogue = _load(config, watch)
    except Exception as error:
        told = isinstance(error, BrokenModuleError | LookupError)
        text = str(error) if told else f"{type(error).__name__}: {error}"
        answer.write(json.dumps({"error": text}).encode() + b"\n")
        return None
    if config.start != "spawn":
        preload(catalogue, watch.imported, _compresses(config))
    pin_sources()
    libraries = [[library.name, library.version] for library in catalogue.libraries]
    offer = {
        "libraries": libraries,
        "files": operator_files(),
        "threads": watch.conclude(),
        "not_held": not_held(),
    }
    answer.write(json.dumps(offer).encode() + b"\n")
    answer.write(list_environments(catalogue).SerializeToString())
    return catalogue


def _serve_forks(control: int) -> int:
    config = _settings()
    interpreters = NewInterpreters.like_this(config.to_json())
    groups = ControlGroups.here()  # forks, so it comes before modules may start threads
    with os.fdopen(os.dup(1), "wb") as answer:
        os.dup2(2, 1)  # modules that print during import print to the log
        catalogue = _load_and_tell(config, answer)
    if catalogue is None:
        groups.close(0.0)
        return 1
    gc.collect()
    gc.freeze()  # keeps the garbage collector from writing to pages that sessions share
    control_socket = socket.socket(fileno=control)
    Forkserver(control_socket, catalogue, config, interpreters, groups).run()
    return 0


def _serve_session(*descriptors: int) -> int:
    config = _settings()
    for descriptor in descriptors:  # programs that environments start do not get them
        os.set_inheritable(descriptor, False)

    def load() -> Catalogue:
        catalogue = _load(config, ThreadWatch())
        pin_sources()
        lasting_threads(0.0)  # ends those of OpenBLAS, or the process could not fork itself
        return catalogue

    become_session(config, SessionDescriptors(*descriptors), load)


def main() -> int:
    """Runs the program."""
    if sys.argv[1] == SESSION:
        return _serve_session(*map(int, sys.argv[2:]))
    return _serve_forks(*map(int, sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
