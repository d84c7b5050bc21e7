"""Evaluates a policy: many episodes, spread over sessions, each counted once, and their statistics.

The statistics are means with confidence intervals, quantiles, and a histogram. `envwire run` shows a progress bar, a
table of returns and, if asked to, an animation.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from envwire.client import RemoteEnv
from envwire.client.errors import SessionLostError
from envwire.server._grammar import counted
from envwire.server.cli._console import OperatorConsole

if TYPE_CHECKING:
    from envwire.server.cli._drive.own_code import Policy


#: How often an episode whose session was lost is restarted before the evaluation gives up.
_ATTEMPTS = 5
CONFIDENCE = 0.95
_RESAMPLES = 2000
_BLOCKS = " ▏▎▍▌▋▊▉█"
_BINS, _WIDTH = 12, 40

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Result:
    """The result of one episode.

    Attributes:
        index: Index of the episode.
        seed: Seed of its reset.
        total: Its return.
        steps: Its length.
        end: "terminated", "truncated", or "cut" at the maximum number of steps.
    """

    index: int
    seed: int
    total: float
    steps: int
    end: str


@dataclass(frozen=True)
class Plan:
    """Parameters of an evaluation.

    Attributes:
        policy: Chooses the actions.
        episodes: Number of episodes.
        seed: Seed from which the episodes' seeds are derived.
        max_steps: Steps after which an episode is cut.
    """

    policy: Policy
    episodes: int
    seed: int
    max_steps: int


def episode_seed(seed: int, index: int) -> int:
    """Returns the seed of an episode, which depends on nothing else, so that any shard may play the episode."""
    return int(np.random.SeedSequence([seed, index]).generate_state(1)[0])


def evaluate(
    plan: Plan, make: Callable[[], Any], shards: int, advance: Callable[[], None]
) -> list[Result]:
    """Plays all episodes and returns their results in order, the same for any number of shards.

    Args:
        plan: The parameters.
        make: Makes an environment; called once per shard.
        shards: Number of environments that play in parallel.
        advance: Called after each episode.

    Raises:
        Exception: The first exception of an environment, the policy or the connection.
    """
    indices = iter(range(plan.episodes))
    lock, over = threading.Lock(), threading.Event()

    def claimed() -> Iterator[int]:
        while not over.is_set():
            with lock:
                index = next(indices, None)
            if index is None:
                return
            yield index

    def play() -> list[Result]:
        results: list[Result] = []
        with contextlib.closing(make()) as env:
            for index in claimed():
                results.append(_episode(plan, env, index))
                advance()
        return results

    with ThreadPoolExecutor(shards, "evaluation") as pool:
        playing = [pool.submit(play) for _ in range(min(shards, plan.episodes))]
        try:
            wait(playing, return_when=FIRST_EXCEPTION)
        finally:
            over.set()  # the others finish their current episodes
    results = itertools.chain.from_iterable(each.result() for each in playing)
    return sorted(results, key=lambda result: result.index)


def _episode(plan: Plan, env: Any, index: int) -> Result:
    """Plays one episode; if its session is lost, the episode is restarted and counts once."""
    for _ in range(_ATTEMPTS - 1):
        with contextlib.suppress(SessionLostError):
            return _attempt(plan, env, index)
    return _attempt(plan, env, index)


def _attempt(plan: Plan, env: Any, index: int) -> Result:
    seed = episode_seed(plan.seed, index)
    env.action_space.seed(seed)
    return Result(index, seed, *play_episode(env, plan.policy, seed, plan.max_steps))


def play_episode(
    env: Any,
    policy: Policy,
    seed: int,
    max_steps: int,
    look: Callable[[], None] | None = None,
) -> tuple[float, int, str]:
    """Plays one episode; returns its return, its length, and how it ended (see `Result`).

    Args:
        env: The environment.
        policy: Chooses the actions.
        seed: Seed of its reset.
        max_steps: Steps after which it is cut.
        look: Called in each of its states.
    """
    observation, _ = env.reset(seed=seed)
    total, steps, end = 0.0, 0, ""
    if look:
        look()
    while not end:
        observation, reward, terminated, truncated, _ = env.step(
            policy(observation, env.action_space)
        )
        total, steps = total + float(reward), steps + 1
        if terminated or truncated:
            end = "terminated" if terminated else "truncated"
        elif steps == max_steps:
            end = "cut"
        if look:
            look()
    return total, steps, end


def summary(results: Sequence[Result], seed: int) -> dict[str, Any]:
    """Returns the statistics of the results, bit for bit the same for the same results and seed."""
    ends = Counter(result.end for result in results)
    return {
        "return": _described(np.array([result.total for result in results]), seed),
        "length": _described(np.array([result.steps for result in results], np.float64), seed),
        "ends": {end: ends[end] for end in ("terminated", "truncated", "cut")},
        "episodes": [asdict(result) for result in results],
    }


def _described(values: Numbers, seed: int) -> dict[str, Any]:
    low, high = interval(values, seed)
    return {
        "mean": float(values.mean()),
        "ci95": [low, high],
        "std": float(values.std(ddof=1)) if len(values) > 1 else 0.0,
        "min": float(values.min()),
        "median": float(np.median(values)),
        "max": float(values.max()),
    }


def interval(values: Numbers, seed: int) -> tuple[float, float]:
    """Returns the confidence interval of the mean, as percentiles of the means of resampled values (bootstrap)."""
    rng = np.random.default_rng(seed)
    size = len(values)
    means = np.array([values[rng.integers(0, size, size)].mean() for _ in range(_RESAMPLES)])
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def histogram(values: Numbers) -> list[str]:
    """Returns a histogram as lines of text, one bar for each range of values."""
    counts, edges = np.histogram(values, bins=min(_BINS, len(np.unique(values))))
    most = max(int(counts.max()), 1)
    return [
        f"{low:10.1f} to {high:10.1f} {_bar(count / most)} {count}"
        for low, high, count in zip(edges, edges[1:], counts.tolist(), strict=False)
    ]


def _bar(share: float) -> str:
    eighths = round(share * _WIDTH * 8)
    rest = _BLOCKS[eighths % 8].strip()
    return (_BLOCKS[-1] * (eighths // 8) + rest).ljust(_WIDTH)


@dataclass
class FrameRecorder:
    """The frames of one episode.

    Attributes:
        form: "ansi" to print them, "gif" to write a file.
        path: Path of the file.
    """

    form: str
    path: Path
    frames: list[Any] = field(default_factory=list[Any])

    def take(self, env: RemoteEnv) -> None:
        """Renders the current state."""
        self.frames.append(env.render())

    def show(self, console: Console, fps: float) -> None:
        """Prints the frames, or writes the file."""
        if self.form == "ansi":
            for frame in self.frames:
                typer.echo(frame)
            return
        from PIL import Image

        first, *rest = [Image.fromarray(np.asarray(frame)) for frame in self.frames]
        first.save(self.path, save_all=True, append_images=rest, duration=1000 / fps, loop=0)
        console.print(f"wrote {self.path} ({counted(len(self.frames), 'frame')})")


def episode_bar(console: Console, *, shown: bool = True) -> Progress:
    """Returns the progress bar of episodes, which only terminals show."""
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TimeRemainingColumn())
    hidden = not (shown and console.is_terminal)
    return Progress(*columns, console=console, transient=True, disable=hidden)


def run_episodes(
    env: RemoteEnv,
    policy: Policy,
    episodes: int,
    seed: int,
    max_steps: int,
    recorder: FrameRecorder | None,
    *,
    bar: bool,
) -> None:
    """Runs episodes, shows the film of the first one, and prints their returns.

    Args:
        env: The environment.
        policy: Chooses the actions.
        episodes: Number of episodes.
        seed: Seed of the first episode and of the action space.
        max_steps: Steps after which an episode is cut.
        recorder: Collects the frames of the first episode.
        bar: Whether to show a progress bar in a terminal; not under a debugger, which needs the terminal.
    """
    env.action_space.seed(seed)
    console = OperatorConsole()
    results: list[tuple[float, int]] = []
    with episode_bar(console, shown=bar) as progress:
        for number in progress.track(range(episodes), description="episodes"):
            look = partial(recorder.take, env) if recorder and number == 0 else None
            results.append(play_episode(env, policy, seed + number, max_steps, look)[:2])
    if recorder is not None:
        recorder.show(console, env.metadata.get("render_fps") or 30)
    _print(console, results)


def _print(console: Console, results: list[tuple[float, int]]) -> None:
    table = Table("episode", "return", "steps")
    for number, (total, steps) in enumerate(results, 1):
        table.add_row(str(number), f"{total:.2f}", str(steps))
    console.print(table)
    returns = np.array([total for total, _ in results])
    spread = f"{returns.mean():.2f} ± {returns.std():.2f}"
    console.print(f"mean return {spread} over {counted(len(returns), 'episode')}")
