"""The driver: a program that reads commands as lines of JSON from its standard input, and prints its answers."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import Any, cast

from google.protobuf import json_format

from envwire.conformance.outcomes import FailedError, SkippedError, UnreachableError
from envwire.conformance.protojson import pool, to_json
from envwire.conformance.raw import Trace
from envwire.v1.values_pb2 import Value, ValueMap

#: Seconds that a driver may take for one command.
_SECONDS = 60.0


class Driver:
    """A running driver.

    Args:
        command: Its command line.

    Raises:
        UnreachableError: It cannot be started.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._lines: queue.Queue[str] = queue.Queue(maxsize=64)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the user's own program
                list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        except OSError as error:
            raise UnreachableError(f"the driver does not start: {error}") from None
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._lines.put(line)
        self._lines.put("")

    def ask(self, what: str, trace: Trace, **fields: Any) -> dict[str, Any]:
        """Sends a command, and returns the answer.

        Raises:
            FailedError: There is no answer, or it is invalid.
            SkippedError: The driver does not support the command.
        """
        line = json.dumps({"do": what, **fields})
        trace.sent("driver", line)
        try:
            stream = cast("Any", self._process.stdin)
            stream.write(f"{line}\n")
            stream.flush()
            answer = self._lines.get(timeout=_SECONDS)
        except (OSError, queue.Empty) as error:
            self.stop()
            raise FailedError(
                f"an answer of the driver within {_SECONDS:g} s, not {error!r}"
            ) from None
        trace.received("driver", answer.strip())
        try:
            return _read_answer(answer)
        except FailedError:
            self.stop()  # later lines would be taken for answers to later commands
            raise

    @property
    def alive(self) -> bool:
        """Whether the driver still runs."""
        return self._process.poll() is None

    def stop(self) -> None:
        """Ends the driver."""
        self._process.kill()
        self._process.communicate()


def _read_answer(line: str) -> dict[str, Any]:
    try:
        answer = json.loads(line)
    except ValueError:
        raise FailedError("a line of JSON from the driver, not its end") from None
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
