"""`python -m tests.compatibility` freezes the current bytes as those of the previous version; run it at a release."""

from __future__ import annotations

import shutil

from envwire.conformance.proxy import Proxy
from envwire.server import Server
from tests.compatibility.recorded import PREVIOUS, Recorder, text
from tests.compatibility.sessions import SESSIONS, drive
from tests.vectors.vector import FOLDER

(PREVIOUS / "sessions").mkdir(parents=True, exist_ok=True)
shutil.copytree(FOLDER, PREVIOUS / "vectors", dirs_exist_ok=True)
with Server(["Conformance/*", "CartPole-v1"]) as server:
    for name in SESSIONS:
        recorder = Recorder()
        with Proxy(server.target, recorder) as proxy:
            drive(name, proxy.target, "stream")
        path = PREVIOUS / "sessions" / f"{name}.json"
        path.write_text(text(recorder.exchanges), encoding="utf-8")
