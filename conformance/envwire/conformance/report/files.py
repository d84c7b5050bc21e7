"""Reports for programs: JUnit and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from envwire.conformance.suite.runner import Outcome, Result


def json_text(results: Sequence[Result]) -> str:
    """Returns the results as JSON: a list of objects."""
    return json.dumps([_described(result) for result in results], indent=1) + "\n"


def _described(result: Result) -> dict[str, object]:
    check = result.check
    return {
        "name": check.name,
        "profile": check.profile,
        "level": check.level.value,
        "proves": list(check.proves),
        "outcome": result.outcome.value,
        "text": result.text,
        "exchange": list(result.exchange),
        "seconds": round(result.seconds, 3),
    }


def junit_text(results: Sequence[Result]) -> str:
    """Returns the results as JUnit XML."""
    failed = sum(result.breaks for result in results)
    skipped = sum(result.outcome is Outcome.SKIPPED for result in results)
    counts = f'tests="{len(results)}" failures="{failed}" skipped="{skipped}"'
    cases = "".join(map(_case, results))
    return f'<?xml version="1.0"?>\n<testsuite name="envwire.v1" {counts}>\n{cases}</testsuite>\n'


def _case(result: Result) -> str:
    check = result.check
    names = f"classname={quoteattr(check.profile)} name={quoteattr(check.name)}"
    return f'<testcase {names} time="{result.seconds:.3f}">{_content(result)}</testcase>\n'


def _content(result: Result) -> str:
    if result.breaks:
        return f"<failure message={quoteattr(result.text)}>{escape(_printable(result))}</failure>"
    if result.outcome is Outcome.PASSED:
        return ""
    return f"<skipped message={quoteattr(f'{result.outcome.value}: {result.text}')}/>"


def _printable(result: Result) -> str:
    """Returns the exchange of a result, without characters that are invalid in XML."""
    text = "\n".join(result.exchange)
    return "".join(one if one >= " " or one in "\n\t" else "?" for one in text)
