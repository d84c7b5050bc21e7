"""Confines itself, then becomes the program that its arguments name: a fork server that takes the place of another one.

Environments have run by then, and may have left code on the disk that the fork server runs or imports. So this program
is started without packages (`python -I -S`). The settings come on standard input and are passed on there.
"""

from __future__ import annotations

import os
import sys

from envwire.server._worker.confining.confinement import Confinement
from envwire.server.config import ServerConfig


def main() -> None:
    """Runs the program."""
    settings = sys.stdin.read()
    confinement = Confinement(ServerConfig.from_json(settings), of_forkserver=True)
    confinement.prepare()
    confinement.apply()
    with open(os.memfd_create("envwire-settings"), "w+", encoding="utf-8") as passed:
        passed.write(settings)
        passed.seek(0)
        os.dup2(passed.fileno(), 0)
    os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606 - our own program


if __name__ == "__main__":
    main()
