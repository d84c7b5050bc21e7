"""Drives one environment of the server in this container; with --render it must draw a picture.

Usage: drive_once.py ENV_ID [--render]
"""

from __future__ import annotations

import sys

from envwire.client import RemoteEnv

env_id, *options = sys.argv[1:]
env = RemoteEnv("127.0.0.1:50051", env_id, **({"render_mode": "rgb_array"} if options else {}))
env.reset(seed=0)
env.step(env.action_space.sample())
if options:
    frame = env.render()
    if not frame.any() or frame.min() == frame.max():
        sys.exit("the picture is empty")
    print("a picture of shape", frame.shape)
env.close()
