"""Turns a process into a session process: its process group and confinement, its output and limits, then its sessions.

A new interpreter is confined before it starts. Otherwise code that an earlier session left on the disk could run
unconfined in it, and so could threads of NumPy, which calls of the environment reach.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, NoReturn

import numpy as np

from envwire.server._hosting.libraries import Catalogue
from envwire.server._ipc.orphans import inherit_orphans
from envwire.server._worker.confining.confinement import Confinement, contain
from envwire.server._worker.process_setup import die_with, run_and_exit, take_output
from envwire.server._worker.worker import Worker, WorkerEndpoints, serve_session
from envwire.server.config import ServerConfig


class SessionDescriptors(NamedTuple):
    """The descriptors with which a session process starts.

    Attributes:
        link: The link's socket.
        output: Pipe for standard output and error.
        control_socket: Packet socket.
        scoreboard: The scoreboard's memory file.
        lifeline: Pipe that closes when the front is gone.
    """

    link: int
    output: int
    control_socket: int
    scoreboard: int
    lifeline: int


def confine(confinement: Confinement) -> None:
    """Confines this process, which has one thread, and programs that it becomes.

    Args:
        confinement: Prepared by the fork server.
    """
    os.setpgid(0, 0)
    confinement.apply()


def become_session(
    config: ServerConfig, descriptors: SessionDescriptors, load: Callable[[], Catalogue]
) -> NoReturn:
    """Becomes a session process, which exits when its sessions are over. The process is confined already.

    Args:
        config: The server's settings.
        descriptors: Its connections.
        load: Returns the environments that sessions can make. In a new interpreter it imports them.
    """
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    take_output(descriptors.output)
    inherit_orphans()
    die_with(descriptors.lifeline)
    np.random.seed()
    run_and_exit(partial(_serve, config, descriptors, load))


def _serve(
    config: ServerConfig, descriptors: SessionDescriptors, load: Callable[[], Catalogue]
) -> None:
    catalogue = load()
    contain(config)  # its limits come on top of what imports took
    link, _, control_socket, scoreboard, _ = descriptors
    endpoints = WorkerEndpoints(link, control_socket, scoreboard, config.sessions_per_process)
    serve_session(Worker(endpoints, catalogue, config))
