"""Events become results, exceptions and warnings."""

from __future__ import annotations

import pytest

from envwire.client._session.states import Answered, Outcome, ProtocolError, Refused, SendAgain
from envwire.v1 import status_pb2


def test_the_warnings_of_what_could_not_be_made_come_with_its_error() -> None:
    refused = Refused(ValueError("no ice"), [(UserWarning, "thin ice")])
    with (
        pytest.warns(UserWarning, match="thin ice"),
        pytest.raises(ValueError, match="no ice"),
    ):
        Outcome("lab/Ice-v0").unwrap(refused)


def test_an_answer_has_its_warnings() -> None:
    warning = status_pb2.Warning(category="UserWarning", text="thin ice")
    with pytest.warns(UserWarning, match="thin ice"):
        assert Outcome("lab/Ice-v0").unwrap(Answered(7, [warning])) == 7


def test_what_is_no_outcome_is_an_error_of_the_driver() -> None:
    with pytest.raises(ProtocolError, match="not the outcome"):
        Outcome("lab/Ice-v0").unwrap(SendAgain(b""))
