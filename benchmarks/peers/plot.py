"""The plot of a run: `python -m benchmarks.peers.plot RESULTS.json PICTURE.svg`, where matplotlib is installed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

from benchmarks.peers.machine import sentence
from benchmarks.peers.plan import SIZES
from benchmarks.peers.results import Outcome, Spread

#: A colour for each family of cases, by the first name with which a case's name begins. envwire's stands out.
COLOURS = {
    "envwire, Gymnasium": "#f28e8c",
    "envwire direct-unix": "#f28e8c",
    "envwire stream": "#e8a33d",
    "envwire unary": "#f0c987",
    "envwire": "#d62728",
    "vectorised, envwire": "#8c1a1b",
    "vectorised, local": "#4d4d4d",
    "raw TCP": "#4d4d4d",
    "bare grpcio": "#a6a6a6",
    "dm_env_rpc": "#1f77b4",
    "OpenEnv": "#2ca02c",
    "remote-gym": "#9467bd",
    "Gymnasium Sync": "#1f77b4",
    "Gymnasium Async": "#9467bd",
    "EnvPool": "#2ca02c",
}
DASHED = ("unary", "Async")
#: Rows of the tables that are left out of the plot.
HIDDEN = ("raw TCP, fresh arrays", "envwire direct", "envwire, Gymnasium's face")


def _colour(case: str) -> str:
    return next((colour for name, colour in COLOURS.items() if case.startswith(name)), "#000000")


def _lines(
    outcomes: list[Outcome],
    at: Callable[[Outcome], float],
    value: Callable[[Outcome, float], float],
) -> dict[str, list[tuple[float, Spread]]]:
    """Returns for each case its points: the position, and the spread of a value computed from the seconds of a call."""
    lines: dict[str, list[tuple[float, Spread]]] = {}
    for outcome in outcomes:
        spread = Spread.of([value(outcome, seconds) for seconds in outcome.seconds])
        if spread and outcome.case not in HIDDEN:
            lines.setdefault(outcome.case, []).append((at(outcome), spread))
    return lines


def _draw(axes: Any, lines: dict[str, list[tuple[float, Spread]]]) -> None:
    for case, points in lines.items():
        at = [x for x, _ in points]
        style = "--" if case.endswith(DASHED) else "-"
        wide = 2.2 if "envwire" in case else 1.3
        median = [spread.median for _, spread in points]
        axes.plot(at, median, style, marker="o", ms=3.5, lw=wide, color=_colour(case), label=case)
        low, high = [s.low for _, s in points], [s.high for _, s in points]
        axes.fill_between(at, low, high, color=_colour(case), alpha=0.1, lw=0)
    axes.set_yscale("log")
    axes.grid(visible=True, which="major", color="#e6e6e6")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=7, frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.13))


def _sizes(axes: Any, outcomes: list[Outcome]) -> None:
    lines = _lines(outcomes, lambda o: list(SIZES).index(o.group), lambda _, seconds: seconds * 1e6)
    _draw(axes, lines)
    axes.set(
        title="one environment", xlabel="size of an observation", ylabel="µs a step, less is better"
    )
    axes.set_xticks(range(len(SIZES)), SIZES)


def _by_doubling(axes: Any, counts: list[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, counts)


def _vector(axes: Any, outcomes: list[Outcome]) -> None:
    lines = _lines(outcomes, lambda o: o.num_envs, lambda o, seconds: o.num_envs / seconds)
    _draw(axes, lines)
    counts = sorted({o.num_envs for o in outcomes})
    axes.set(title="a batch of CartPole", xlabel="environments", ylabel="steps/s, more is better")
    _by_doubling(axes, counts)


def _clients(axes: Any, outcomes: list[Outcome]) -> None:
    _draw(axes, _lines(outcomes, lambda o: o.clients, lambda _, seconds: 1 / seconds))
    counts = sorted({o.clients for o in outcomes})
    axes.set(title="many clients of one server", xlabel="clients", ylabel="steps/s, more is better")
    _by_doubling(axes, counts)


PANELS: dict[str, Callable[[Any, list[Outcome]], None]] = {
    "sizes": _sizes,
    "vector": _vector,
    "clients": _clients,
}


def draw(numbers: dict[str, Any], picture: Path) -> None:
    """Draws a panel for each section that was measured: medians as lines, ranges as shades."""
    outcomes = [Outcome(**fields) for fields in numbers["outcomes"]]
    sections = {key: [o for o in outcomes if o.section == key and o.rounds] for key in PANELS}
    shown = {key: some for key, some in sections.items() if some}
    # Text stays text, which is smaller and machine-readable. With a fixed salt the same numbers give the same file.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "peers", "font.size": 9})
    figure, panels = plt.subplots(1, len(shown), figsize=(5.2 * len(shown), 5.4), squeeze=False)
    for axes, (key, some) in zip(panels[0], shown.items(), strict=True):
        PANELS[key](axes, some)
    figure.text(0.01, 0.01, sentence(numbers["machine"]), fontsize=6.5, color="#808080")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None)


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
