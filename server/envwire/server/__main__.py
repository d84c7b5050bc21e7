"""`python -m envwire.server` is the command `envwire`."""

from __future__ import annotations

from envwire.server.cli import main

if __name__ == "__main__":
    main()
