"""The process behind `Server`: reads its settings from standard input, and ends when that is closed.

The settings are one line of JSON, optionally followed by a tab and a token for joining a farm. The token is not a
setting, because the server's other processes get the settings, and no environment may have the token.
"""

from __future__ import annotations

import sys

from envwire.server._front.event_loop import run_loop, stop_on_signals
from envwire.server._guarded_output import guard_output
from envwire.server._ipc.child_program import READY, at_end_of_input
from envwire.server._logs import JSON, log_to_stderr
from envwire.server._processes.forkserver_start import ForkserverError
from envwire.server.config import ServerConfig
from envwire.server.serving import serve


def main() -> int:
    """Serves until SIGTERM, or until the program that started this process is gone."""
    guard_output()
    settings, _, token = sys.stdin.readline().strip().partition("\t")
    config = ServerConfig.from_json(settings)
    if config.log_format == JSON or config.join:  # otherwise it logs warnings, as plain text
        log_to_stderr(config.log_format)
    try:
        run_loop(_serve(config, token))
    except (ForkserverError, OSError, ValueError) as error:
        print(error, flush=True)
        return 1
    return 0


async def _serve(config: ServerConfig, token: str) -> None:
    stop = stop_on_signals()
    at_end_of_input(stop.set)
    await serve(config, lambda target: print(f"{READY}{target}", flush=True), stop, token)


if __name__ == "__main__":
    sys.exit(main())
