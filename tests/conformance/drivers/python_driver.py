"""The driver of envwire's own client, for `envwire conformance --client`: lines of JSON in, lines of JSON out."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from google.protobuf import json_format

from envwire.client import Credentials, RemoteEnv, RemoteError
from envwire.codec import decode_value, encode_value, envwire_family
from envwire.envs import error
from envwire.v1.values_pb2 import Value

FAMILY = envwire_family()
#: Reasons that have a class in the library of environments.
CLASSES = {
    error.InvalidAction: "INVALID_ACTION",
    error.NameNotFound: "UNKNOWN_ENVIRONMENT",
    error.ResetNeeded: "RESET_NEEDED",
    AttributeError: "ATTRIBUTE_MISSING",
}


def read(shown: Any) -> Any:
    return decode_value(json_format.ParseDict(shown, Value()), FAMILY)


def written(value: Any) -> Any:
    message = Value()
    encode_value(value, message)
    return json_format.MessageToDict(message)


class Driver:
    """One environment at a time."""

    env: RemoteEnv | None = None

    def make(
        self,
        target: str,
        env_id: str,
        transport: str,
        lease: float | None = None,
        ca: str | None = None,
    ) -> Any:
        self.close()
        chosen = None if transport == "auto" else transport
        trusted = Credentials(ca=ca) if ca else None
        self.env = RemoteEnv(target, env_id, transport=chosen, lease=lease, credentials=trusted)
        return {}

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        assert self.env is not None
        given = None if options is None else read(options)
        observation, info = self.env.reset(seed=seed, options=given)
        return {"observation": written(observation), "info": written(info)}

    def step(self, action: Any) -> Any:
        assert self.env is not None
        observation, reward, terminated, truncated, info = self.env.step(read(action))
        return {
            "observation": written(observation),
            "reward": reward if isinstance(reward, float) else None,
            "terminated": bool(terminated),
            "truncated": bool(truncated),
            "info": written(info),
        }

    def wait(self, seconds: float) -> Any:
        time.sleep(seconds)
        return {}

    def close(self) -> Any:
        env, self.env = self.env, None
        if env is not None:
            env.close()
        return {}


def reason(failure: Exception) -> str:
    if isinstance(failure, RemoteError):
        return failure.reason
    for kind, name in CLASSES.items():
        if isinstance(failure, kind):
            return name
    return "ENVIRONMENT_RAISED"


def answer(driver: Driver, line: str) -> dict[str, Any]:
    asked = json.loads(line)
    do: Callable[..., Any] | None = getattr(driver, asked.pop("do"), None)
    if do is None:
        return {"unsupported": line.strip()}
    try:
        return {"ok": do(**asked)}
    except Exception as failure:
        return {"error": {"reason": reason(failure), "message": str(failure)}}


def main() -> None:
    driver = Driver()
    for line in sys.stdin:
        print(json.dumps(answer(driver, line)), flush=True)


if __name__ == "__main__":
    main()
