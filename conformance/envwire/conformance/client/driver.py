"""The driver: a program that reads commands as lines of JSON from its standard input, and prints its answers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from concurrent import futures
from typing import Any, cast

from google.protobuf import json_format

from envwire.conformance.outcomes import FailedError, SkippedError, UnreachableError
from envwire.conformance.protojson import pool, to_json
from envwire.conformance.raw import Trace
from envwire.v1.values_pb2 import Value, ValueMap

#: Seconds that a driver may take for one command.
_SECONDS = 60.0
#: Most characters of an answer; that of a step with ten megabytes has 13 million.
_MAX_ANSWER = 2**25


class Driver:
    """A running driver.

    Args:
        command: Its command line.

    Raises:
        UnreachableError: It cannot be started.
    """

    def __init__(self, command: Sequence[str]) -> None:
        try:
            self._process: Any = subprocess.Popen(  # noqa: S603 - the user's own program
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,  # what it starts ends with it
            )
        except OSError as error:
            raise UnreachableError(f"the driver does not start: {error}") from None
        self._thread = futures.ThreadPoolExecutor(1)

    def ask(self, what: str, trace: Trace, **fields: Any) -> dict[str, Any]:
        """Sends a command, and returns the answer.

        Raises:
            FailedError: There is no answer, or it is invalid.
            SkippedError: The driver does not support the command.
        """
        line = json.dumps({"do": what, **fields})
        trace.sent("driver", line)
        try:
            answer = self._thread.submit(self._exchange, line).result(_SECONDS)
            trace.received("driver", answer.strip())
            return _read_answer(answer)
        except futures.TimeoutError:
            self.stop()
            raise FailedError(f"an answer of the driver within {_SECONDS:g} s") from None
        except FailedError:
            self.stop()  # later lines would be taken for answers to later commands
            raise

    def _exchange(self, line: str) -> str:
        with contextlib.suppress(BrokenPipeError):  # it has ended, and so does its output
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
        return str(self._process.stdout.readline(_MAX_ANSWER))

    @property
    def alive(self) -> bool:
        """Whether the driver still runs. It is not waited for: `stop` needs the number of its process group."""
        process = self._process
        waiting = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return process.returncode is None and os.waitid(os.P_PID, process.pid, waiting) is None

    def stop(self) -> None:
        """Ends the driver, and what it started."""
        if self._process.returncode is not None:
            return
        os.killpg(self._process.pid, signal.SIGKILL)
        self._thread.shutdown()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def _read_answer(line: str) -> dict[str, Any]:
    if not line:
        raise FailedError("a line of JSON from the driver, not its end")
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        raise FailedError(
            f"a line of JSON from the driver, of at most {_MAX_ANSWER} characters, not {line[:80]!r}"
        ) from None
    if not isinstance(answer, dict):
        raise FailedError("an object in the driver's line")
    found = cast("dict[str, Any]", answer)
    if "unsupported" in found:
        raise SkippedError(f"the driver cannot: {found['unsupported']}")
    return found


def to_protojson(value: Value | ValueMap) -> Any:
    """Returns a value as ProtoJSON, for a command."""
    return json.loads(to_json(value))


def value_of(found: Mapping[str, Any], name: str) -> Value:
    """Returns a value of an answer.

    Raises:
        FailedError: The value is missing, or is not ProtoJSON.
    """
    try:
        return json_format.ParseDict(found[name], Value(), descriptor_pool=pool())
    except (KeyError, json_format.ParseError) as error:
        raise FailedError(f"{name} as the ProtoJSON of a Value, not {error!r}") from None
