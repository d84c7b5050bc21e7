"""Test suites for your own environments and servers, and a transport that injects faults.

    # test_lab.py, run by pytest
    from envwire.testing import EnvironmentCompliance, ServerCompliance

    class TestLab(EnvironmentCompliance):
        env_id = "Lab-v0"
        imports = ["lab"]

    class TestServer(ServerCompliance):
        target = "localhost:50051"
        env_id = "CartPole-v1"

Each class is a list of checks with plain assertions; nothing here needs pytest.
"""

from __future__ import annotations

from envwire.server.inprocess import InProcessTransport
from envwire.testing.comparing import identical, rollout
from envwire.testing.environment_compliance import EnvironmentCompliance
from envwire.testing.faulty_transport import Fault, FaultyTransport
from envwire.testing.server_compliance import ServerCompliance

__all__ = [
    "EnvironmentCompliance",
    "Fault",
    "FaultyTransport",
    "InProcessTransport",
    "ServerCompliance",
    "identical",
    "rollout",
]
