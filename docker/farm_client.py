"""Makes 32 environments through the gateway of a farm of four, or the proxy in front of it, and steps them.

Usage: farm_client.py TARGET

It shows ENVWIRE_TOKEN, or the token beside the file of ENVWIRE_CA; where there is one, a client without it is refused.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from envwire.client import Credentials, RemoteEnv, RemoteError

TARGET = sys.argv[1]
COUNT, SERVERS = 32, 4

certificate = os.environ.get("ENVWIRE_CA")
if certificate:
    try:
        RemoteEnv(TARGET, "CartPole-v1", credentials=Credentials(ca=certificate, token=None))
    except RemoteError as error:
        print("without a token:", error)
    else:
        raise SystemExit("a client without a token was let in")
    os.environ["ENVWIRE_TOKEN"] = Path(certificate).with_name("token").read_text().strip()
envs = [RemoteEnv(TARGET, "CartPole-v1") for _ in range(COUNT)]
for env in envs:
    env.reset(seed=0)
    env.step(0)
status = subprocess.run(
    ["envwire", "farm", "status", TARGET, "--json"], check=True, capture_output=True, timeout=60
)
loads = [each["active_sessions"] for each in json.loads(status.stdout)["servers"]]
for env in envs:
    env.close()
print("environments on each server:", loads)
if len(loads) != SERVERS or max(loads) - min(loads) > 1:
    raise SystemExit(f"{COUNT} environments on {SERVERS} servers are {loads}")
