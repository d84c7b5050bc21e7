"""The command `envwire` on another system: `python -m tests.portability.command_line win32 serve CartPole-v1`."""

from __future__ import annotations

import sys

from tests.portability.another_system import pretend

pretend(sys.argv.pop(1))

from envwire.server.cli import main  # noqa: E402

main()
