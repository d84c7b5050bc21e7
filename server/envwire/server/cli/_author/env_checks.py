"""The checks of `envwire check`: each returns what it found, or raises an error that says what is wrong."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from envwire.server.cli._author.subject import SkippedError, Subject
from envwire.server.cli._drive.measuring import median_step
from envwire.testing.comparing import identical, rollout

_STEPS = 100
_SEED = 7
_TIMED_STEPS = 500
_MARKUP = re.compile(r"\x1b\[\d+m(WARN: )?")


class Finding(NamedTuple):
    """The result of one check.

    Attributes:
        name: The check.
        passed: Whether it passed; None if it could not be run.
        detail: What it found, or why it failed or was skipped.
    """

    name: str
    passed: bool | None
    detail: str


def findings(subject: Subject) -> Iterator[Finding]:
    """Runs all checks of an environment, one after another."""
    for name, check in CHECKS.items():
        yield _found(name, check, subject)


def _found(name: str, check: Callable[[Subject], str], subject: Subject) -> Finding:
    try:
        return Finding(name, True, check(subject))
    except SkippedError as error:
        return Finding(name, None, f"skipped: {error.args[0]}")
    except Exception as error:
        text = str(error) or "without a text"
        return Finding(name, False, f"{type(error).__name__}: {text}")


def _api(subject: Subject) -> str:
    library = "envwire.envs" if subject.library is None else subject.library.__name__
    with closing(subject.other()) as env, warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        checker = import_module(f"{library}.utils.env_checker")
        # What only the server makes cannot be made here in its other render modes.
        checker.check_env(env.unwrapped, skip_render_check=subject.library is None)
    advice = "; ".join(_plain(each.message) for each in seen)
    return advice or "keeps the rules of the API"


def _plain(warning: object) -> str:
    """Returns the first line of a warning, without the colours and the level that Gymnasium writes into it."""
    return _MARKUP.sub("", str(warning).partition("\n")[0]).rstrip(".")


def _spaces(subject: Subject) -> str:
    with closing(subject.other()) as here, closing(subject.remote()) as there:
        for name in ("action_space", "observation_space"):
            local, remote = getattr(here, name), getattr(there, name)
            assert str(local) == str(remote), (
                f"{name} is {local} {subject.elsewhere} and {remote} there"
            )
        return f"{here.observation_space} -> {here.action_space}"


def _same_over(transport: str) -> Callable[[Subject], str]:
    def check(subject: Subject) -> str:
        with closing(subject.other()) as here:
            expected = rollout(here, _STEPS, _SEED)
        with closing(subject.remote(transport)) as there:
            seen = rollout(there, _STEPS, _SEED)
        for number, (one, other) in enumerate(zip(expected, seen, strict=False)):
            assert identical(one, other), (
                f"answer {number} is {_short(one)} {subject.elsewhere} and {_short(other)} there; the environment "
                "must depend on its seed and its actions alone"
            )
        return f"{_STEPS} steps are equal to the bit"

    return check


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) < 120 else f"{text[:117]}..."


def _pixels(subject: Subject) -> str:
    with closing(subject.remote()) as env:
        modes: Any = env.metadata.get("render_modes") or ()
    if "rgb_array" not in modes:
        raise SkippedError('no render mode "rgb_array"')
    frames: list[Any] = []
    for make in (subject.other, subject.remote):
        with closing(make(render_mode="rgb_array")) as env:
            env.reset(seed=_SEED)
            frames.append(np.asarray(env.render()))
    assert identical(*frames), (
        f"a frame rendered {subject.elsewhere} is another one than one rendered there"
    )
    height, width = frames[0].shape[:2]
    return f"{width} x {height}, equal to the bit"


def _speed(subject: Subject) -> str:
    with closing(subject.remote()) as env:
        there = median_step(env, _TIMED_STEPS, _SEED)
    if subject.library is None:
        return f"{there:,.0f} us a step on the server"
    with closing(subject.other()) as env:
        here = median_step(env, _TIMED_STEPS, _SEED)
    return f"{here:,.0f} us a step here, {there:,.0f} us on the server"


CHECKS: dict[str, Callable[[Subject], str]] = {
    "API": _api,
    "spaces": _spaces,
    **{f"same over {each}": _same_over(each) for each in ("unary", "stream", "direct")},
    "pixels": _pixels,
    "speed": _speed,
}
