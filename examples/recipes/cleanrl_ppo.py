"""Runs CleanRL's ppo.py, unchanged, on a remote environment: `make example-cleanrl CLEANRL=path/to/cleanrl/ppo.py`.

The script makes its environments by id, so the remote one gets an id.
"""

from __future__ import annotations

import runpy
import sys

import gymnasium

from envwire.server import Server

STEPS = 20_000


def main() -> None:
    """Registers the id and runs the file."""
    (script,) = sys.argv[1:]
    with Server(["CartPole-v1"]) as server:
        gymnasium.register(
            "Remote-CartPole-v1",
            entry_point="envwire.client.gymnasium:make_remote",
            kwargs={"target": server.target, "env_id": "CartPole-v1"},
        )
        sys.argv = [
            script,
            "--env-id=Remote-CartPole-v1",
            f"--total-timesteps={STEPS}",
            "--no-cuda",
        ]
        runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
